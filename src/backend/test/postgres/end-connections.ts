import type pg from 'pg'

/** Ends the connections of an application, of a user or to a database, and resolves when none of them can be used any more. */
export async function endConnections(
  administrator: pg.Client,
  owner: 'application_name' | 'usename' | 'datname',
  name: string,
): Promise<void> {
  // Without the timeout, a connection may still serve queries afterwards.
  const statement = `select pg_terminate_backend(pid, 20000) from pg_stat_activity where ${owner} = $1`
  await administrator.query(statement, [name])
}
