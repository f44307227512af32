BEGIN TRANSACTION;
CREATE TABLE yarntune_job (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	program TEXT NOT NULL, 
	main_class TEXT, 
	arguments_shape TEXT NOT NULL, 
	queue TEXT, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_yarntune_job PRIMARY KEY (id), 
	CONSTRAINT uq_yarntune_job_key UNIQUE ("key")
);
INSERT INTO "yarntune_job" VALUES(1,'3f2a','daily','daily.py',NULL,'--date D','root.batch',1800000000.0);
CREATE TABLE yarntune_run (
	id INTEGER NOT NULL, 
	job_id INTEGER NOT NULL, 
	study_id INTEGER, 
	trial_number INTEGER, 
	kind VARCHAR(16) NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	application_id TEXT, 
	queue TEXT, 
	configuration JSON NOT NULL, 
	arguments JSON NOT NULL, 
	submitted_at DOUBLE NOT NULL, 
	finished_at DOUBLE, 
	wait_s DOUBLE, 
	run_s DOUBLE, 
	duration_s DOUBLE, 
	memory_seconds BIGINT, 
	vcore_seconds BIGINT, 
	input_bytes BIGINT, 
	load JSON, 
	metrics JSON NOT NULL, 
	failure TEXT, 
	spark_version TEXT, 
	cluster_id TEXT, 
	owner_host TEXT NOT NULL, 
	owner_pid INTEGER NOT NULL, 
	owner_started_at DOUBLE NOT NULL, 
	CONSTRAINT pk_yarntune_run PRIMARY KEY (id), 
	CONSTRAINT fk_yarntune_run_job_id FOREIGN KEY(job_id) REFERENCES yarntune_job (id), 
	CONSTRAINT fk_yarntune_run_study_id FOREIGN KEY(study_id) REFERENCES yarntune_study (id)
);
INSERT INTO "yarntune_run" VALUES(1,1,1,0,'default','SUCCEEDED','application_1799990000000_0001','root.batch','{"spark.executor.memory": "4g"}','["--date", "2026-11-30"]',1800000000.0,1800000061.5,11.5,50.0,61.5,500000,120,NULL,NULL,'{"gc_s": 0.5}',NULL,'4.3.0','1799990000000','edge1',4711,1799999995.0);
INSERT INTO "yarntune_run" VALUES(2,1,1,1,'trial','FAILED','application_1799990000000_0002','root.batch','{"spark.executor.memory": "4g"}','["--date", "2026-11-30"]',1800000070.0,1800000090.0,NULL,NULL,20.0,90000,20,NULL,NULL,'{}','exit status 1','4.3.0','1799990000000','edge1',4711,1799999995.0);
CREATE TABLE yarntune_study (
	id INTEGER NOT NULL, 
	job_id INTEGER NOT NULL, 
	space_hash TEXT NOT NULL, 
	seed BIGINT NOT NULL, 
	slack DOUBLE NOT NULL, 
	trials_wanted INTEGER NOT NULL, 
	pinned JSON NOT NULL, 
	limits JSON NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	best_run_id INTEGER, 
	created_at DOUBLE NOT NULL, 
	finished_at DOUBLE, 
	owner_host TEXT NOT NULL, 
	owner_pid INTEGER NOT NULL, 
	owner_started_at DOUBLE NOT NULL, 
	CONSTRAINT pk_yarntune_study PRIMARY KEY (id), 
	CONSTRAINT fk_yarntune_study_job_id FOREIGN KEY(job_id) REFERENCES yarntune_job (id)
);
INSERT INTO "yarntune_study" VALUES(1,1,'h1',7,0.05,20,'{"spark.executor.cores": "2"}','{"memory_mib": 8192}','FINISHED',1,1800000000.0,1800000200.0,'edge1',4711,1799999995.0);
CREATE TABLE yarntune_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT yarntune_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "yarntune_version" VALUES('0001');
CREATE INDEX ix_yarntune_job_name ON yarntune_job (name);
CREATE INDEX ix_yarntune_study_state ON yarntune_study (state);
CREATE INDEX ix_yarntune_study_job_id_id ON yarntune_study (job_id, id);
CREATE INDEX ix_yarntune_run_state ON yarntune_run (state);
CREATE INDEX ix_yarntune_run_application_id ON yarntune_run (application_id);
CREATE INDEX ix_yarntune_run_job_id_id ON yarntune_run (job_id, id);
CREATE INDEX ix_yarntune_run_study_id_id ON yarntune_run (study_id, id);
COMMIT;
