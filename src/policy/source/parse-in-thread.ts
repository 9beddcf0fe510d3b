import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'
import { startThread } from '../../lib/process/start-thread.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import type { PolicyProblem } from '../language/policy-error.ts'
import type { PolicyVocabulary } from '../language/policy-vocabulary.ts'
import type { PolicyText } from './policy-location.ts'
import {
  restoreDocument,
  areParsedParts,
  type ParsedPart,
  type ParseRequest,
} from './transferable-document.ts'

export type ParsedFile = Pick<ParsedPolicies, 'documents' | 'problems'>

/** Posting all files at once would stall the event loop. */
const filesInMessage = 100

/**
 * Parses files in a worker thread. Results arrive in batches to keep the event loop responsive. Rejects if the thread
 * fails.
 */
export async function parseInThread(
  files: readonly PolicyText[],
  { options }: PolicyVocabulary,
): Promise<readonly ParsedFile[]> {
  const thread = startThread(import.meta.url, 'parser-thread')
  try {
    const parsed: ParsedFile[] = []
    for (let first = 0; first < files.length; first += filesInMessage) {
      const batch = files.slice(first, first + filesInMessage)
      const collected = batch.map(() => ({
        documents: [] as PolicyDocument[],
        problems: [] as PolicyProblem[],
      }))
      for (
        let parts = await requestParts(thread, { files: batch, options });
        parts !== undefined;
        parts = await requestParts(thread, undefined)
      ) {
        await runInSlices(collect(parts, collected))
      }
      parsed.push(...collected)
    }
    return parsed
  } finally {
    await thread.terminate()
  }
}

async function requestParts(
  thread: Worker,
  request: ParseRequest | undefined,
): Promise<readonly ParsedPart[] | undefined> {
  const ended = new AbortController()
  const end = (status: number): void => ended.abort(new Error(`the parser thread ended with ${status}`))
  thread.once('exit', end)
  try {
    const response = once(thread, 'message', { signal: ended.signal })
    thread.postMessage(request)
    const [message]: unknown[] = await response
    if (message === undefined || areParsedParts(message)) return message
    throw new Error('the parser thread sent something else than parsed policies')
  } finally {
    thread.off('exit', end)
  }
}

type Collected = readonly { readonly documents: PolicyDocument[]; readonly problems: PolicyProblem[] }[]

function* collect(parts: readonly ParsedPart[], collected: Collected): Steps<void> {
  for (const { index, documents, problems } of parts) {
    for (const problem of problems) collected[index]?.problems.push(problem)
    for (const document of documents) {
      collected[index]?.documents.push(restoreDocument(document))
      yield
    }
  }
}
