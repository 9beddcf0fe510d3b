import { performance } from 'node:perf_hooks'
import { builtInVocabulary } from '../src/policy/language/policy-vocabulary.ts'
import { runAtOnce } from '../src/lib/async/run-in-slices.ts'
import { createTextParser } from '../src/policy/source/load-policies.ts'
import { readPolicyFolder } from '../src/policy/source/policy-folder.ts'
import { compilePolicies } from '../src/policy/policy-set.ts'

/*
 * Loads the policies of a folder several times in a fresh process, as a gateway does at start. Prints a line of JSON
 * per load.
 */

/** Milliseconds. */
export interface LoadTimes {
  readonly read: number
  readonly parse: number
  readonly compile: number
  /** CPU time of all three, over all threads, including compilation and garbage collection. */
  readonly cpu: number
  /** Parsing again without changes. */
  readonly again: number
}

const [folder = '', rounds = ''] = process.argv.slice(2)

for (let round = 0; round < Number(rounds); round++) {
  const parse = createTextParser(builtInVocabulary)
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const files = await readPolicyFolder({ path: folder, prefix: '' })
  const readAt = performance.now()
  const documents = runAtOnce(parse(files)).flatMap((file) => file.documents)
  const parsedAt = performance.now()
  compilePolicies(documents)
  const compiledAt = performance.now()
  const { user, system } = process.cpuUsage(cpuBefore)
  runAtOnce(parse(files))
  const times: LoadTimes = {
    read: readAt - startedAt,
    parse: parsedAt - readAt,
    compile: compiledAt - parsedAt,
    cpu: (user + system) / 1000,
    again: performance.now() - compiledAt,
  }
  console.log(JSON.stringify(times))
}
