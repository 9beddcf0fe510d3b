import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import path from 'node:path'
// The package has these types, but does not export them: tsconfig.json maps the name to the file.
import type * as native from '@lancedb/lancedb/native'

/** One level of an expression takes up to 6 KB of stack. Address space only: untouched pages take no memory. */
const minStackBytes = 32 * 1024 * 1024
/** Some work on the engine's thread pool waits for other work of the pool: with one thread it waits forever. */
const minThreads = 2

/** The native part of the engine. Of its numbers, most have 32 bits and wrap around; every Arrow buffer is an IPC file. */
export const { Connection, Index, JsFullTextQuery, Session } = loadNative()

/**
 * Loads the native part of the engine without the JavaScript layer. LANCEDB_LOG sets its log level; LANCE_CPU_THREADS
 * and RUST_MIN_STACK can raise threads and stacks. What is not public may be another in any other version, so package.json
 * pins it.
 */
function loadNative(): typeof native {
  process.env['LANCEDB_LOG'] ??= 'error'
  // Otherwise a query holds the pages of several uploads.
  process.env['LANCE_DEFAULT_FRAGMENT_READAHEAD'] ??= '1'
  // Otherwise the statistics of a vector index load all its centroids.
  process.env['LANCE_INCLUDE_VECTOR_CENTROIDS'] ??= 'false'
  raiseEnvironmentVariable('RUST_MIN_STACK', minStackBytes, minStackBytes)
  raiseEnvironmentVariable('LANCE_CPU_THREADS', minThreads, availableParallelism() - 2)
  const require = createRequire(import.meta.url)
  const folder = path.dirname(require.resolve('@lancedb/lancedb'))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types are of the same version
  return require(path.join(folder, 'native.js')) as typeof native
}

/** Sets an environment variable of the engine; raises a smaller existing value to `minimum`. */
function raiseEnvironmentVariable(name: string, minimum: number, defaultValue: number): void {
  const current = Number.parseInt(process.env[name] ?? '', 10)
  process.env[name] = String(Math.max(minimum, Number.isNaN(current) ? defaultValue : current))
}
