import { parentPort } from 'node:worker_threads'
import { CatalogError } from '../../catalog-api/index.ts'
import { createPolicyVocabulary, type PolicyDocument } from '../../policy/index.ts'
import type { PlaygroundRun } from './playground.ts'
import { createPlaygroundReport } from './playground-report.ts'

/*
 * A worker thread that tries one text (see playground.ts): it receives all documents in force, in batches, then the run.
 * The response is the report, or `error` for a question that cannot be asked.
 */

const inForce: PolicyDocument[] = []

parentPort?.on('message', (message: readonly PolicyDocument[] | PlaygroundRun) => {
  if ('text' in message) void run(message)
  else inForce.push(...message)
})

async function run(request: PlaygroundRun): Promise<void> {
  const vocabulary = createPolicyVocabulary(request.vocabulary)
  try {
    parentPort?.postMessage(await createPlaygroundReport(request, inForce, vocabulary))
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    parentPort?.postMessage({ error: error.message })
  }
}
