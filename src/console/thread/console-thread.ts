import { parentPort } from 'node:worker_threads'
import { CatalogError } from '../../catalog-api/index.ts'
import { createPolicyVocabulary, type PolicyDocument } from '../../policy/index.ts'
import { searchEntries } from '../audit/search.ts'
import { createPlaygroundReport } from '../playground/playground-report.ts'
import type { ThreadRequest } from './run-in-thread.ts'

/*
 * A worker thread that runs one request (see run-in-thread.ts): it receives all documents in force, in batches, then the request.
 * The response is the result, or `error` for a question that cannot be asked.
 */

const inForce: PolicyDocument[] = []

parentPort?.on('message', (message: readonly PolicyDocument[] | ThreadRequest) => {
  if ('auditFolder' in message) void respond(message)
  else inForce.push(...message)
})

async function respond(request: ThreadRequest): Promise<void> {
  try {
    parentPort?.postMessage(await run(request))
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    parentPort?.postMessage({ error: error.message })
  }
}

function run(request: ThreadRequest): Promise<object> {
  const { auditFolder } = request
  if ('selection' in request) return searchEntries(auditFolder, request.selection)
  const vocabulary = createPolicyVocabulary(request.vocabulary)
  return createPlaygroundReport(request.trial, auditFolder, inForce, vocabulary)
}
