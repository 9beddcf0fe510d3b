import { describeFactSource } from '../../../src/catalog-api/facts.ts'
import { conditionVariables } from '../../../src/policy/conditions/condition-variables.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'

/** Names of stated facts in conditions, if different; two facts of the request form one of conditions. */
const inConditions: Readonly<Record<string, string>> = { newNamespace: 'destination', newName: 'destination' }

/** Whether conditions can read the fact; other facts only require additional permissions. */
const isCondition = (fact: string): boolean => (inConditions[fact] ?? fact) in conditionVariables

const headings = ['fact', 'stated in', 'of'] as const

/** Table in policies/README.md of the facts that each operation states, and where. */
function factsReference(): string {
  const operations = new Map<string, string[]>()
  for (const name of operationNames) {
    for (const [fact, locations] of getOperation(name).facts) {
      if (!isCondition(fact)) continue
      const key = JSON.stringify([
        inConditions[fact] ?? fact,
        locations.map(describeFactSource).join(', or '),
      ])
      operations.set(key, [...(operations.get(key) ?? []), `\`${name}\``])
    }
  }
  const rows = [...operations].map(([key, names]) => {
    const [fact = '', locations = ''] = JSON.parse(key) as string[]
    return [`\`${fact}\``, locations.replaceAll('"', '`'), names.join(', ')] as const
  })
  rows.sort((one, other) => (one.join() < other.join() ? -1 : 1))
  const table = [headings, headings.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
  return table.join('\n')
}

const generated = /(?<=<!-- facts: npm run reference -->\n)[^]*?(?=<!-- end -->)/

/** Replaces the generated part of the text with the table. */
export function withFactsReference(text: string): string {
  return text.replace(generated, `\n${factsReference()}\n\n`)
}

/** Rows of the generated part of a text, without the padding of cells. */
export function factsReferenceIn(text: string): readonly string[] {
  const rows = generated.exec(text)?.[0].trim().split('\n') ?? []
  return rows.map((row) => row.replaceAll(/ *\| */g, '|').replaceAll(/-+/g, '-'))
}
