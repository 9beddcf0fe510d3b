import { extname } from 'node:path'
import { Worker, type ResourceLimits } from 'node:worker_threads'

/**
 * Starts the program beside a module, by the URL of the module and the name of the program without an extension: a thread
 * that does not keep the process alive.
 */
export function startThread(moduleUrl: string, name: string, resourceLimits: ResourceLimits = {}): Worker {
  const extension = extname(moduleUrl)
  const program = new URL(`${name}${extension}`, moduleUrl)
  const thread =
    extension === '.ts'
      ? new Worker(runSource, { eval: true, workerData: program.href, resourceLimits })
      : new Worker(program, { execArgv: [], resourceLimits })
  thread.unref()
  return thread
}

/** Runs the TypeScript source, for tests: a thread does not inherit the module loader of the process. */
const runSource = `require('tsx/cjs/api').register()
require(require('node:url').fileURLToPath(require('node:worker_threads').workerData))`
