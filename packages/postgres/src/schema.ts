import { McpError } from '@jackfield/sdk'
import type { Database } from './database.ts'

/** A PostgreSQL schema. */
export interface Schema {
  /** Its name, which needs no quotes. */
  readonly name: string
  /** A text that identifies a topic of this schema among all topics of the database. */
  topicId(topic: string): string
}

/** SQL: milliseconds since 1970 at the start of the statement, by the clock of PostgreSQL. Indexes can be used with it. */
export const now = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'
/** SQL: as `now`, but at the moment of evaluation, for functions that wait for locks. */
const clock = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
const clockMicros = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'

/** @throws McpError INVALID for a name that would have to be quoted */
export function schemaOf(name: string): Schema {
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(name)) {
    throw new McpError(
      'INVALID',
      `schema must be 1 to 40 lower-case letters, digits and "_" that do not begin with a digit, not ${JSON.stringify(name)}`,
    )
  }
  return { name, topicId: (topic) => `${name}:${topic}` }
}

/** The statements of each version, in order. A version that was published is never changed. */
const migrations: readonly ((s: string) => string)[] = [
  (s) => `
CREATE TABLE ${s}.records (
  key bytea PRIMARY KEY,
  value bytea NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX records_by_expiry ON ${s}.records (expires_at);

CREATE TABLE ${s}.logs (
  name bytea PRIMARY KEY,
  newest bigint NOT NULL,
  entries integer NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX logs_by_expiry ON ${s}.logs (expires_at);
CREATE TABLE ${s}.log_entries (
  log bytea NOT NULL,
  position bigint NOT NULL,
  entry bytea NOT NULL,
  PRIMARY KEY (log, position)
);

-- Messages that are too long for a notification, and all messages where nodes cannot listen.
CREATE UNLOGGED TABLE ${s}.messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel text NOT NULL,
  body bytea NOT NULL,
  sent_at bigint NOT NULL
);
CREATE INDEX messages_by_age ON ${s}.messages (sent_at);

CREATE UNLOGGED TABLE ${s}.buckets (
  key bytea PRIMARY KEY,
  full_at bigint NOT NULL
);
CREATE INDEX buckets_by_time ON ${s}.buckets (full_at);

CREATE TABLE ${s}.tasks (
  id text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  owner text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  running boolean NOT NULL,
  holder text NOT NULL,
  held_until bigint NOT NULL,
  body text NOT NULL
);
CREATE INDEX tasks_by_owner ON ${s}.tasks (owner, created_at, id);
CREATE INDEX tasks_by_expiry ON ${s}.tasks (expires_at);
CREATE INDEX tasks_running ON ${s}.tasks (held_until) WHERE running;
-- Several counters, so that transactions do not wait for each other; their sum counts all tasks.
CREATE TABLE ${s}.task_counts (slot integer PRIMARY KEY, tasks bigint NOT NULL);
INSERT INTO ${s}.task_counts SELECT slot, 0 FROM generate_series(0, 15) AS slot;

CREATE FUNCTION ${s}.append(log_name bytea, new_entry bytea, keep integer, ttl bigint, previous bigint)
RETURNS bigint LANGUAGE plpgsql AS $function$
DECLARE
  known ${s}.logs%ROWTYPE;
  at_ms bigint;
  at bigint;
BEGIN
  -- Events may be lost with PostgreSQL itself, which their writer notices by "previous".
  PERFORM set_config('synchronous_commit', 'off', true);
  LOOP
    INSERT INTO ${s}.logs VALUES (log_name, 0, 0, ${clock} + 60000) ON CONFLICT DO NOTHING;
    SELECT * INTO known FROM ${s}.logs WHERE name = log_name FOR UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  at_ms := ${clock};
  IF known.expires_at <= at_ms OR known.newest <> previous AND known.newest <> 0 THEN
    DELETE FROM ${s}.log_entries WHERE log = log_name;
    known.entries := 0;
  END IF;
  at := greatest(known.newest + 1, ${clockMicros});
  IF ttl <= 0 THEN
    DELETE FROM ${s}.log_entries WHERE log = log_name;
    DELETE FROM ${s}.logs WHERE name = log_name;
    RETURN at;
  END IF;
  INSERT INTO ${s}.log_entries VALUES (log_name, at, new_entry);
  known.entries := known.entries + 1;
  IF known.entries > keep THEN
    DELETE FROM ${s}.log_entries WHERE log = log_name AND position IN (
      SELECT position FROM ${s}.log_entries WHERE log = log_name ORDER BY position LIMIT known.entries - keep
    );
    known.entries := keep;
  END IF;
  UPDATE ${s}.logs SET newest = at, entries = known.entries, expires_at = at_ms + ttl WHERE name = log_name;
  RETURN at;
END $function$;

-- One at a time, so that ids become visible in their order.
CREATE FUNCTION ${s}.publish(channels text[], bodies bytea[]) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('${s} messages', 0));
  INSERT INTO ${s}.messages (channel, body, sent_at)
    SELECT channel, body, ${clock} FROM unnest(channels, bodies) WITH ORDINALITY AS m (channel, body, nth) ORDER BY nth;
END $function$;

-- The microseconds to wait, or 0 if it was spent.
CREATE FUNCTION ${s}.spend(bucket_key bytea, cost bigint, capacity bigint) RETURNS bigint LANGUAGE plpgsql AS $function$
DECLARE
  at bigint;
  after_micros bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  LOOP
    INSERT INTO ${s}.buckets VALUES (bucket_key, ${clockMicros}) ON CONFLICT DO NOTHING;
    SELECT full_at INTO after_micros FROM ${s}.buckets WHERE key = bucket_key FOR UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  at := ${clockMicros};
  after_micros := greatest(after_micros, at) + cost;
  IF after_micros - at > capacity THEN RETURN after_micros - at - capacity; END IF;
  UPDATE ${s}.buckets SET full_at = after_micros WHERE key = bucket_key;
  RETURN 0;
END $function$;

CREATE FUNCTION ${s}.expire_tasks(most integer, counter integer) RETURNS bigint LANGUAGE plpgsql AS $function$
DECLARE
  at bigint := ${clock};
  gone bigint;
BEGIN
  WITH deleted AS (
    DELETE FROM ${s}.tasks WHERE id IN (
      SELECT id FROM ${s}.tasks WHERE expires_at <= at ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    ) RETURNING 1
  ) SELECT count(*) INTO gone FROM deleted;
  IF gone > 0 THEN UPDATE ${s}.task_counts SET tasks = tasks - gone WHERE slot = counter; END IF;
  RETURN gone;
END $function$;

-- The time of its creation, or nothing if the capacity is reached.
CREATE FUNCTION ${s}.add_task(
  task_id text, task_owner text, ttl bigint, task_holder text, hold bigint, task_body text,
  owner_capacity bigint, all_capacity bigint
) RETURNS bigint LANGUAGE plpgsql AS $function$
DECLARE
  at bigint;
  counter integer := floor(random() * 16);
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('${s} tasks of ' || task_owner, 0));
  at := ${clock};
  IF (SELECT count(*) FROM ${s}.tasks WHERE owner = task_owner AND expires_at > at) >= owner_capacity THEN
    RETURN NULL;
  END IF;
  IF (SELECT sum(tasks) FROM ${s}.task_counts) >= all_capacity THEN
    PERFORM ${s}.expire_tasks(1000, counter);
    IF (SELECT sum(tasks) FROM ${s}.task_counts) >= all_capacity THEN RETURN NULL; END IF;
  END IF;
  INSERT INTO ${s}.tasks VALUES (task_id, 1, task_owner, at, at + ttl, true, task_holder, at + hold, task_body)
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN NULL; END IF;
  UPDATE ${s}.task_counts SET tasks = tasks + 1 WHERE slot = counter;
  RETURN at;
END $function$;

-- By one node at a time. Tasks are deleted by those that use them.
CREATE FUNCTION ${s}.expire() RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  at bigint := ${clock};
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('${s} expiry', 0)) THEN RETURN; END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM ${s}.records WHERE key IN (
    SELECT key FROM ${s}.records WHERE expires_at <= at LIMIT 10000 FOR UPDATE SKIP LOCKED
  );
  WITH gone AS (
    DELETE FROM ${s}.logs WHERE name IN (
      SELECT name FROM ${s}.logs WHERE expires_at <= at LIMIT 1000 FOR UPDATE SKIP LOCKED
    ) RETURNING name
  ) DELETE FROM ${s}.log_entries USING gone WHERE log = gone.name;
  DELETE FROM ${s}.messages WHERE sent_at <= at - 120000;
  DELETE FROM ${s}.buckets WHERE full_at <= (at - 60000) * 1000;
END $function$;
`,
]

/** Creates or updates the tables. @throws McpError if they are outdated and `mayMigrate` is false, or if the migration fails */
export async function createSchema(database: Database, mayMigrate: boolean): Promise<void> {
  const { name } = database.schema
  const version = await versionOf(database)
  if (version > migrations.length) {
    throw new McpError(
      'INVALID',
      `The schema ${name} was migrated by a later version of @jackfield/postgres: update @jackfield/postgres in this process`,
    )
  }
  if (version === migrations.length) return
  if (!mayMigrate) {
    throw new McpError(
      'INVALID',
      `The schema ${name} has version ${version} of the tables, and this process needs version ${migrations.length}: call migratePostgres, or leave "migrate" at its default`,
    )
  }
  const statements = [
    `SELECT pg_advisory_xact_lock(hashtextextended('${name} migrations', 0))`,
    `CREATE SCHEMA IF NOT EXISTS ${name}`,
    `CREATE TABLE IF NOT EXISTS ${name}.migrations (version integer PRIMARY KEY)`,
    ...migrations.map(
      (migration, index) => `DO $migration$ BEGIN
  IF NOT EXISTS (SELECT FROM ${name}.migrations WHERE version = ${index + 1}) THEN
    EXECUTE $statements$ ${migration(name)} $statements$;
    INSERT INTO ${name}.migrations VALUES (${index + 1});
  END IF;
END $migration$`,
    ),
  ]
  // Statements without parameters are sent as one simple query, which is one transaction.
  await database.run('the migration', statements.join(';\n'))
}

async function versionOf(database: Database): Promise<number> {
  const { name } = database.schema
  const [exists] = await database.runIdempotent(
    'to_regclass',
    'SELECT to_regclass($1) IS NOT NULL AS is_there',
    [`${name}.migrations`],
  )
  if (exists?.['is_there'] !== true) return 0
  const [found] = await database.runIdempotent(
    'the version',
    `SELECT max(version) AS version FROM ${name}.migrations`,
  )
  return Number(found?.['version'] ?? 0)
}
