import { getOperation, type OperationName } from '../../src/catalog-api/operations.ts'
import type { GatewayRecords } from './gateway-records.ts'
import { formatInterpretation, type Interpretation } from './interpretation.ts'
import type { InterpretedRequest } from './lenient-catalog.ts'
import type { Selection } from './lenient-body.ts'
import { isLenientObject, type LenientValue } from './lenient-json.ts'
import { allowedNamespace, restrictedTable, visiblePart } from './test-objects.ts'

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
    ...(isRestricted(authorized) ? findUnrestricted(authorized.operation, request.selection) : []),
    ...request.claims.map((claim) => `the upstream receives ${claim}`),
    ...(line['principal'] === 'writer' ? [] : [`the caller is ${String(line['principal'])}`]),
  ].map((difference) => `authorized as ${expected}: ${difference}`)
}

const restrictedReads: ReadonlySet<string> = new Set([
  'QueryTable',
  'CountTableRows',
  'DescribeTable',
  'TableExists',
])
const visibleNames: ReadonlySet<LenientValue> = new Set(['id', '`id`', '_distance'])

function isRestricted({ id }: Interpretation): boolean {
  return id.join('/') === restrictedTable.join('/')
}

/** Returns what a read of the restricted table asks for besides its visible part. */
function findUnrestricted(operation: string, selection: Selection | undefined): string[] {
  const { conditions = [], columns = [], points = [] } = selection ?? {}
  const differences = points.length === 0 ? [] : [`it reads ${JSON.stringify(points)}`]
  const { sentRows } = visiblePart
  const [condition] = conditions
  const hasCondition =
    conditions.length === 1 &&
    typeof condition === 'string' &&
    (condition === sentRows || condition.startsWith(`(${sentRows} AND `))
  const selectsRows = operation === 'QueryTable' || operation === 'CountTableRows'
  if (selectsRows && !hasCondition) differences.push(`it reads rows by ${JSON.stringify(conditions)}`)
  const selected = columns.flatMap(listNames)
  const isVisible = columns.length === 1 && selected.every((name) => visibleNames.has(name))
  if (operation === 'QueryTable' && !isVisible)
    differences.push(`it reads the columns ${JSON.stringify(columns)}`)
  return differences
}

/** Returns the names in a list, and the values of an object. */
function listNames(columns: LenientValue): readonly LenientValue[] {
  if (Array.isArray(columns)) return (columns as readonly LenientValue[]).flatMap(listNames)
  return isLenientObject(columns) ? columns.members.flatMap(([, value]) => listNames(value)) : [columns]
}

/** Of the restricted table, only a part is read. Batches have no object of their own, and listings of the root are filtered. */
function isAllowed({ operation, id }: Interpretation): boolean {
  if (isRestricted({ operation, id })) return restrictedReads.has(operation)
  return (
    id[0] === allowedNamespace ||
    (id.length === 0 &&
      /^(?:List(?:Namespaces|Tables|AllTables|Views|MaterializedViews)|Batch.*)$/.test(operation))
  )
}
