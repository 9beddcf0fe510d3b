import { describeFactSource } from '../../../src/catalog-api/facts.ts'
import { conditionVariables } from '../../../src/policy/conditions/condition-variables.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'

/** What the facts of operations are called in conditions; two of the request make one of conditions. */
const inConditions: Readonly<Record<string, string>> = { newNamespace: 'destination', newName: 'destination' }

/** Whether conditions can read the fact; the others only ask for permissions of their own. */
const isCondition = (fact: string): boolean => (inConditions[fact] ?? fact) in conditionVariables

const headings = ['fact', 'stated in', 'of'] as const

/** The table of policies/README.md that says which operations state which facts, and where. */
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

/** A text whose generated part is the table. */
export function withFactsReference(text: string): string {
  return text.replace(generated, `\n${factsReference()}\n\n`)
}

/** The rows of the generated part of a text, each without the padding of its cells. */
export function factsReferenceIn(text: string): readonly string[] {
  const rows = generated.exec(text)?.[0].trim().split('\n') ?? []
  return rows.map((row) => row.replaceAll(/ *\| */g, '|').replaceAll(/-+/g, '-'))
}
