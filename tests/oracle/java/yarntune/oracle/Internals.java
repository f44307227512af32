package yarntune.oracle;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Access to private members of Hadoop's classes, for the few things that have no other way in. */
public final class Internals {
  private Internals() { }

  public static Object get(Class<?> owner, Object object, String field) {
    try {
      return open(owner, field).get(object);
    } catch (ReflectiveOperationException e) {
      throw changed(owner, field, e);
    }
  }

  public static void set(Class<?> owner, Object object, String field, Object value) {
    try {
      open(owner, field).set(object, value);
    } catch (ReflectiveOperationException e) {
      throw changed(owner, field, e);
    }
  }

  public static Object call(Class<?> owner, Object object, String name, Class<?> parameter, Object argument) {
    try {
      Method method = owner.getDeclaredMethod(name, parameter);
      method.setAccessible(true);
      return method.invoke(object, argument);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(owner.getSimpleName() + "." + name, e.getCause());
    } catch (ReflectiveOperationException e) {
      throw changed(owner, name, e);
    }
  }

  private static Field open(Class<?> owner, String name) throws NoSuchFieldException {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  private static IllegalStateException changed(Class<?> owner, String member, Exception cause) {
    return new IllegalStateException("this Hadoop has another " + owner.getSimpleName() + "." + member, cause);
  }
}
