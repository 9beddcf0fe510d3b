import { parentPort } from 'node:worker_threads'
import { CatalogError } from '../catalog-api/index.ts'
import { createPolicyVocabulary, type PolicyDocument } from '../policy/index.ts'
import { createPlaygroundReport } from './playground-report.ts'
import type { ThreadRequest } from './run-in-thread.ts'
import { searchEntries } from './select-entries.ts'

/*
 * A worker thread that runs one request (see run-in-thread.ts): it receives all documents in force, in batches, then the request.
 * The response is the result, or `error` for a request that is not valid.
 */

const inForce: PolicyDocument[] = []

parentPort?.on('message', (message: PolicyDocument[] | ThreadRequest) => {
  if (Array.isArray(message)) inForce.push(...message)
  else void respond(message)
})

async function respond(request: ThreadRequest): Promise<void> {
  try {
    parentPort?.postMessage(await run(request))
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    parentPort?.postMessage({ error: error.message })
  }
}

function run(request: ThreadRequest): object | Promise<object> {
  if ('selection' in request) return searchEntries(request.auditFolder, request.selection)
  const vocabulary = createPolicyVocabulary(request.vocabulary)
  return createPlaygroundReport(request.trial, inForce, vocabulary)
}
