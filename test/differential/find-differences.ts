import { getOperation, type OperationName } from '../../src/catalog-api/operations.ts'
import type { GatewayRecords } from './gateway-records.ts'
import { formatInterpretation, type Interpretation } from './interpretation.ts'
import type { InterpretedRequest } from './lenient-catalog.ts'
import { allowedNamespace } from './test-objects.ts'

/** Compares a request at the upstream with its authorization. Returns the differences, empty if there are none. */
export function findDifferences(request: InterpretedRequest, { lines, intents }: GatewayRecords): string[] {
  const [line, ...others] = lines.get(request.requestId) ?? []
  if (line === undefined || others.length > 0) return [`${others.length + (line ? 1 : 0)} lines in the log`]
  const authorized = { operation: String(line['operation']), id: line['id'] as string[] }
  const expected = formatInterpretation(authorized)
  const recorded = intents.get(request.requestId) ?? []
  const objects = recorded.flatMap(({ objects = [] }) => objects)
  const isChange = getOperation(authorized.operation as OperationName).effect !== 'read'
  const isRecorded =
    recorded.length === 1 && recorded.every((intent) => formatInterpretation(intent) === expected)
  const known = new Set([authorized, ...objects].map(formatInterpretation))
  return [
    ...(request.interpretations.length === 0 ? ['no interpretation'] : []),
    ...request.interpretations
      .map(formatInterpretation)
      .filter((text) => text !== expected)
      .map((text) => `interpreted as ${text}`),
    ...request.nested
      .map(formatInterpretation)
      .filter((text) => !known.has(text))
      .map((text) => `the body also contains ${text}`),
    ...[authorized, ...objects]
      .filter((interpretation) => !isAllowed(interpretation))
      .map((interpretation) => `allowed ${formatInterpretation(interpretation)}`),
    ...(isChange && !isRecorded ? [`${recorded.length} intents, or one that differs`] : []),
    ...request.claims.map((claim) => `the upstream receives ${claim}`),
    ...(line['principal'] === 'writer' ? [] : [`the caller is ${String(line['principal'])}`]),
  ].map((difference) => `authorized as ${expected}: ${difference}`)
}

/** Batches have no object of their own, and listings of the root are filtered. */
function isAllowed({ operation, id }: Interpretation): boolean {
  return (
    id[0] === allowedNamespace ||
    (id.length === 0 &&
      /^(?:List(?:Namespaces|Tables|AllTables|Views|MaterializedViews)|Batch.*)$/.test(operation))
  )
}
