import { refusal } from '../../catalog-api/catalog-error.ts'
import { assertIdentifier, quoteForMessage, type Identifier } from '../../catalog-api/identifiers.ts'
import { getOperation, type Operation, type OperationName } from '../../catalog-api/operations.ts'
import { foldParameterName } from '../../catalog-api/reserved-parameters.ts'
import { isListOfStrings } from '../../lib/json/is-list-of-strings.ts'
import { permissionFacts, unknownFacts } from '../../policy/conditions/operation-facts.ts'
import { describeJsonValue } from '../facts/fact-values.ts'
import { foldMemberName } from '../facts/member-spelling.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import type { RequiredPermission } from './required-permission.ts'

/**
 * Lists the permissions on the objects that the body of an extra operation names in declared members. Throws
 * InvalidInput (400) for a value that is no id, and for another spelling of such a member.
 */
export function* listIdMemberPermissions(
  { idMembers, response }: Operation,
  members: JsonObject,
): Generator<RequiredPermission, void, void> {
  if (idMembers.size === 0) return
  const declared = new Map([...idMembers].map(([name, permission]) => [fold(name), { name, permission }]))
  for (const [key, value] of Object.entries(members)) {
    const found = declared.get(fold(key))
    if (found === undefined) continue
    const { name, permission } = found
    if (key !== name) {
      const message = `the key ${quoteForMessage(key)} in the body is ambiguous; write ${quoteForMessage(name)}`
      throw refusal('ambiguous_member', message)
    }
    if (value === null) continue
    const id = readId(name, value)
    const requiredBy = `the member ${name}`
    yield requirePermission(permission, id, requiredBy)
    // The response may contain credentials of any object of the request.
    if (response === 'json') yield withholdCredentials(permission, id, requiredBy)
  }
}

/** Nothing is known of what the operation does to the object: every fact counts against the caller. */
function requirePermission(
  permission: OperationName,
  id: Identifier,
  requiredBy: string,
): RequiredPermission {
  return { permission, kind: getOperation(permission).object, id, facts: unknownFacts, requiredBy }
}

function withholdCredentials(
  operation: OperationName,
  id: Identifier,
  requiredBy: string,
): RequiredPermission {
  const permission = 'VendCredentials'
  const facts = permissionFacts(permission, id, {})
  return { permission, kind: getOperation(operation).object, id, facts, requiredBy, fallback: 'withheld' }
}

function readId(name: string, value: unknown): Identifier {
  // The upstream of the request, with its rule for names, is known when all of its ids are.
  if (isListOfStrings(value) && value.length > 0) return assertIdentifier(value, 'allowed')
  throw refusal(
    'invalid_body',
    `${quoteForMessage(name)} in the body is ${describeJsonValue(value)}; expected the id of an object, a list of strings`,
  )
}

/** As the most lenient reader compares names. */
function fold(name: string): string {
  return foldParameterName(foldMemberName(name))
}
