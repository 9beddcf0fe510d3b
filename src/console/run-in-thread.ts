import { once } from 'node:events'
import { extname } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Selection } from '../audit/index.ts'
import { refusal } from '../catalog-api/index.ts'
import type { PolicyDocument, VocabularyOptions } from '../policy/index.ts'
import type { Trial } from './playground-report.ts'

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
 * console-thread.ts, and rejects with CatalogError if there is none.
 */
export function createThreadRunner() {
  let isRunning = false
  return async (request: ThreadRequest, inForce: readonly PolicyDocument[] = []): Promise<object> => {
    if (isRunning)
      throw refusal('invalid_request', 'another request like this one is running; try again in a moment')
    const thread = startThread()
    isRunning = true
    try {
      const response = await ask(thread, request, inForce)
      if ('error' in response) throw refusal('invalid_request', String(response.error))
      return response
    } finally {
      await thread.terminate()
      isRunning = false
    }
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

async function ask(
  thread: Worker,
  request: ThreadRequest,
  inForce: readonly PolicyDocument[],
): Promise<object> {
  const signal = AbortSignal.timeout(timeoutMs)
  // An error before the request is posted leaves it without a response.
  thread.on('error', () => undefined)
  try {
    for (let first = 0; first < inForce.length; first += documentsInMessage) {
      thread.postMessage(inForce.slice(first, first + documentsInMessage))
      await yieldToEventLoop()
    }
    const responses = once(thread, 'message', { signal })
    thread.postMessage(request)
    const [response = {}]: object[] = await responses
    return response
  } catch (error) {
    const limits = `${timeoutMs / 1000} seconds or ${resourceLimits.maxOldGenerationSizeMb} MiB`
    const message = `it needs more than ${limits}, or the audit log cannot be read`
    throw refusal('invalid_request', message, { cause: error })
  }
}
