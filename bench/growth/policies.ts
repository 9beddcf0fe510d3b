import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { stringify } from 'yaml'
import { runAtOnce } from '../../src/lib/async/run-in-slices.ts'
import { builtInVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { assertDocuments, collectDocuments } from '../../src/policy/source/document-problems.ts'
import { compileDocuments, createTextParser } from '../../src/policy/source/load-policies.ts'
import { readPolicyFolder, resolveTimeMs } from '../../src/policy/source/policy-folder.ts'
import { formatPolicies } from '../../test/policy/policy-builder.ts'
import { processorCost, type Growth } from './growth.ts'

const fileCount = 100

/** Policies with three rules each, in a hundred files. */
export const policies: Growth = {
  unit: 'policies',
  sizes: [100, 1_000, 10_000],
  shortSizes: [500, 2_000],
  async measure(size, folder) {
    const write = async (file: number, version: string): Promise<void> => {
      const texts: string[] = []
      for (let number = file; number < size; number += fileCount) texts.push(textOf(number, version))
      await writeFile(join(folder, `${file}.yaml`), texts.join('---\n'))
    }
    for (let file = 0; file < fileCount; file += 1) await write(file, 'first')
    await pause(2 * resolveTimeMs)
    const parse = createTextParser(builtInVocabulary)
    const load = async (): Promise<void> => {
      const files = await readPolicyFolder({ path: folder, prefix: '' })
      const documents = collectDocuments(runAtOnce(parse(files)))
      runAtOnce(assertDocuments(documents))
      runAtOnce(compileDocuments(documents))
    }
    const start = await processorCost('read and compile at the start', load)
    await write(0, 'second')
    await pause(2 * resolveTimeMs)
    return [start, await processorCost('reload of one file', load)]
  },
}

function textOf(number: number, version: string): string {
  const groups = [`group-${number % 200}`, `group-${number % 190}`, version]
  const rules = ['read', 'write', 'commit'].map((operation, rule) => ({
    id: `rule-${rule}`,
    effect: rule === 2 ? ('deny' as const) : ('allow' as const),
    subjects: { groups },
    operations: [operation],
    ...(rule === 1 && { when: `branch != "branch-${number % 3000}"` }),
  }))
  const namespace = [`team-${number % 100}`, `project-${number}`]
  return stringify(JSON.parse(formatPolicies([{ name: `policy-${number}`, namespace, rules }])))
}
