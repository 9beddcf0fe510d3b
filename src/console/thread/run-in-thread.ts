import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Selection } from '../../audit/index.ts'
import { runInSlices, type Steps } from '../../lib/index.ts'
import type { PolicyDocument, VocabularyOptions } from '../../policy/index.ts'
import type { Trial } from '../playground/trial.ts'

/** A search of the audit log, or a text to try beside the documents in force. */
export type ThreadRequest =
  | { readonly selection: Selection; readonly auditFolder: string }
  | { readonly trial: Trial; readonly vocabulary: VocabularyOptions }

const timeoutMs = 15_000
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
/** Posting all documents at once would stall the event loop. */
const documentsInMessage = 50

/**
 * Creates a function that runs requests in threads with limits of time and memory, one at a time. It resolves with the response of
 * console-thread.ts, or with `error`.
 */
export function createThreadRunner() {
  let isRunning = false
  return async (request: ThreadRequest, inForce: readonly PolicyDocument[] = []): Promise<object> => {
    if (isRunning) return { error: 'another request like this one is running; try again in a moment' }
    isRunning = true
    try {
      return await runInThread(request, inForce)
    } finally {
      isRunning = false
    }
  }
}

async function runInThread(request: ThreadRequest, inForce: readonly PolicyDocument[]): Promise<object> {
  const thread = startThread()
  const ended = new AbortController()
  thread.once('exit', () => ended.abort())
  // `exit` follows.
  thread.on('error', () => undefined)
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(timeoutMs)])
  try {
    await runInSlices(postDocuments(thread, inForce))
    const response = once(thread, 'message', { signal })
    thread.postMessage(request)
    const [report]: object[] = await response
    return report ?? {}
  } catch (error) {
    if (!signal.aborted) throw error
    const limits = `${timeoutMs / 1000} seconds or ${resourceLimits.maxOldGenerationSizeMb} MiB`
    return { error: `it needs more than ${limits}, or the audit log cannot be read` }
  } finally {
    await thread.terminate()
  }
}

function* postDocuments(thread: Worker, inForce: readonly PolicyDocument[]): Steps<void> {
  for (let first = 0; first < inForce.length; first += documentsInMessage) {
    thread.postMessage(inForce.slice(first, first + documentsInMessage))
    yield
  }
}

/** Starts console-thread.ts: a thread that does not keep the process alive. */
function startThread(): Worker {
  const extension = extname(import.meta.url)
  const program = new URL(`console-thread${extension}`, import.meta.url)
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
