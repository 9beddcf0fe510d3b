import { parentPort } from 'node:worker_threads'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { createPolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { restoreDocument } from './transferable-document.ts'
import { createPlaygroundReport, QuestionError } from './playground-report.ts'
import type { PlaygroundMessage, PlaygroundRun } from './playground-run.ts'

/*
 * A worker thread that tries one text (see playground.ts). The response is a PlaygroundReport, or `error` for a
 * question that cannot be asked.
 */

const inForce: PolicyDocument[] = []

parentPort?.on('message', (message: PlaygroundMessage) => {
  if ('text' in message) void run(message)
  else inForce.push(...message.map(restoreDocument))
})

async function run(request: PlaygroundRun): Promise<void> {
  const vocabulary = createPolicyVocabulary(request.vocabulary)
  try {
    parentPort?.postMessage(await createPlaygroundReport(request, inForce, vocabulary))
  } catch (error) {
    if (!(error instanceof CatalogError || error instanceof QuestionError)) throw error
    parentPort?.postMessage({ error: error.message })
  }
}
