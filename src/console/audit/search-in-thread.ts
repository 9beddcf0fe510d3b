import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Selection } from '../../audit/index.ts'

export interface SearchOfLog {
  readonly auditFolder: string
  readonly selection: Selection
}

const timeoutMs = 15_000
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }

/**
 * Creates a function that searches in threads with limits of time and memory, one at a time. It resolves with the result of
 * `searchEntries`, or with `error`.
 */
export function createThreadSearch() {
  let isRunning = false
  return async (search: SearchOfLog): Promise<object> => {
    if (isRunning) return { error: 'another search is running; try again in a moment' }
    isRunning = true
    try {
      return await searchInThread(search)
    } finally {
      isRunning = false
    }
  }
}

async function searchInThread(search: SearchOfLog): Promise<object> {
  const thread = startThread(search)
  // Also for errors while it is terminated.
  thread.on('error', () => undefined)
  try {
    const [found]: object[] = await once(thread, 'message', { signal: AbortSignal.timeout(timeoutMs) })
    return found ?? {}
  } catch {
    const limits = `${timeoutMs / 1000} seconds or ${resourceLimits.maxOldGenerationSizeMb} MiB`
    return { error: `it needs more than ${limits}, or the audit log cannot be read` }
  } finally {
    await thread.terminate()
  }
}

/** Starts search-thread.ts: a thread that does not keep the process alive. */
function startThread(search: SearchOfLog): Worker {
  const extension = extname(import.meta.url)
  const program = new URL(`search-thread${extension}`, import.meta.url)
  const options = { workerData: search, resourceLimits }
  const thread =
    extension === '.ts'
      ? new Worker(importTypeScript(program), { ...options, eval: true })
      : new Worker(program, { ...options, execArgv: [] })
  thread.unref()
  return thread
}

/** Runs the TypeScript source, for tests: a thread does not inherit the module loader of the process. */
function importTypeScript({ href }: URL): string {
  const [program, importer] = [JSON.stringify(href), JSON.stringify(import.meta.url)]
  return `import('tsx/esm/api').then(({ tsImport }) => tsImport(${program}, ${importer}))`
}
