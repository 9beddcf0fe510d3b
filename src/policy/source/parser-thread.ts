import { parentPort } from 'node:worker_threads'
import { parsePolicyFile } from './parse-policy-file.ts'
import { builtInVocabulary, createPolicyVocabulary } from '../language/policy-vocabulary.ts'
import { toTransferable, type ParsedPart, type ParseRequest } from './transferable-document.ts'

/*
 * A worker thread that parses policies (see parse-in-thread.ts). A message is a request to parse files, or undefined to
 * request the next batch of the same files. The response is a batch of documents, or undefined after the last one.
 */

/** A larger batch would stall the event loop of the receiver. */
const rulesInBatch = 100

let batches: Iterator<readonly ParsedPart[], void> = batchesOf({
  files: [],
  options: builtInVocabulary.options,
})
parentPort?.on('message', (request: ParseRequest | undefined) => {
  if (request !== undefined) batches = batchesOf(request)
  parentPort?.postMessage(batches.next().value)
})

function* batchesOf({ files, options }: ParseRequest): Generator<readonly ParsedPart[], void> {
  const vocabulary = createPolicyVocabulary(options)
  let batch: ParsedPart[] = []
  let rules = 0
  for (const [index, file] of files.entries()) {
    const { documents, problems } = parsePolicyFile(file, vocabulary)
    batch.push({ index, documents: [], problems })
    for (const document of documents) {
      batch.push({ index, documents: [toTransferable(document)], problems: [] })
      rules += 1 + document.rules.length
      if (rules < rulesInBatch) continue
      yield batch
      batch = []
      rules = 0
    }
  }
  if (batch.length > 0) yield batch
}
