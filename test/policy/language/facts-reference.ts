import { conditionVariables } from '../../../src/policy/conditions/condition-variables.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { formatSource, type GeneratedTable } from './generated-table.ts'

/** Names of stated facts in conditions, if different; two facts of the request form one of conditions. */
const inConditions: Readonly<Record<string, string>> = { newNamespace: 'destination', newName: 'destination' }

/** Whether conditions can read the fact; other facts only require additional permissions. */
const isCondition = (fact: string): boolean => (inConditions[fact] ?? fact) in conditionVariables

/** The facts that each operation states, and where. */
export const factsReference: GeneratedTable = { name: 'facts', rows: listRows() }

function listRows(): GeneratedTable['rows'] {
  const operations = new Map<string, string[]>()
  for (const name of operationNames) {
    for (const [fact, locations] of getOperation(name).facts) {
      if (!isCondition(fact)) continue
      const key = JSON.stringify([inConditions[fact] ?? fact, locations.map(formatSource).join(' or ')])
      operations.set(key, [...(operations.get(key) ?? []), `\`${name}\``])
    }
  }
  const rows = [...operations].map(([key, names]) => {
    const [fact = '', locations = ''] = JSON.parse(key) as string[]
    return [`\`${fact}\``, locations, names.join(', ')] as const
  })
  rows.sort((one, other) => (one.join() < other.join() ? -1 : 1))
  return [['fact', 'stated in', 'of'], ...rows]
}
