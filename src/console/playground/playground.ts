import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'
import { getMembers } from '../../lib/json/json-values.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import type { PlaygroundMessage, PlaygroundRun } from './playground-run.ts'
import { toTransferable } from './transferable-document.ts'

const timeoutMs = 15_000
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
/** Posting all documents at once would stall the event loop. */
const documentsInMessage = 50

/** Why a text was not tried, in words for the viewer. */
export class PlaygroundError extends Error {}

/**
 * Tries policy texts of viewers beside the policies in force, which it never changes. One at a time, in a thread with
 * limits of time and memory.
 */
export interface Playground {
  /**
   * Resolves with a PlaygroundReport. Rejects with PlaygroundError if another text is being tried, the text exceeds a
   * limit, or the question cannot be asked.
   */
  run(request: PlaygroundRun, inForce: readonly PolicyDocument[]): Promise<unknown>
}

export function createPlayground(): Playground {
  let isRunning = false
  return {
    async run(request, inForce) {
      if (isRunning) throw new PlaygroundError('another text is being tried; try again in a moment')
      isRunning = true
      const thread = startThread()
      // `exit` follows.
      thread.on('error', () => undefined)
      try {
        await runInSlices(postDocuments(thread, inForce))
        return await requestReport(thread, request)
      } finally {
        await thread.terminate()
        isRunning = false
      }
    },
  }
}

function* postDocuments(thread: Worker, inForce: readonly PolicyDocument[]): Steps<void> {
  for (let first = 0; first < inForce.length; first += documentsInMessage) {
    post(thread, inForce.slice(first, first + documentsInMessage).map(toTransferable))
    yield
  }
}

async function requestReport(thread: Worker, request: PlaygroundRun): Promise<unknown> {
  const ended = new AbortController()
  thread.once('exit', () => ended.abort())
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(timeoutMs)])
  let report: unknown
  try {
    const response = once(thread, 'message', { signal })
    post(thread, request)
    ;[report] = await response
  } catch (cause) {
    const limits = `${timeoutMs / 1000} seconds or ${resourceLimits.maxOldGenerationSizeMb} MiB`
    const message = `the text was not tried: it needs more than ${limits}, or the audit log cannot be read`
    throw new PlaygroundError(message, { cause })
  }
  const { error } = getMembers(report)
  if (typeof error === 'string') throw new PlaygroundError(error)
  return report
}

/** Starts playground-thread.ts: a thread that does not keep the process alive. */
function startThread(): Worker {
  const extension = extname(import.meta.url)
  const program = new URL(`playground-thread${extension}`, import.meta.url)
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

function post(thread: Worker, message: PlaygroundMessage): void {
  thread.postMessage(message)
}
