import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The folder with the programs of a PostgreSQL server: one of PATH, else Debian's newest; undefined without any. */
export function findPostgres(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian) : []
  const newestFirst = versions.toSorted((one, other) => Number(other) - Number(one))
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...newestFirst.map((version) => join(debian, version, 'bin')),
  ]
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))))
}
