import type { ObjectKind } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import { describing } from './describing.ts'
import { nearest, type PolicyNode } from './policy-node.ts'
import type { Question } from './question.ts'

/** Whoever may do one of these to an object may know that it is there. */
const knowing: Readonly<Record<ObjectKind, readonly Permission[]>> = {
  namespace: ['ListNamespaces', 'ListTables', 'DescribeNamespace', 'NamespaceExists'],
  table: ['ListTables', 'DescribeTable', 'TableExists'],
  materialized_view: ['ListTables', 'DescribeTable', 'TableExists'],
  transaction: ['DescribeTransaction'],
  none: [],
}

/** Tells who may know what, from the policies below that root. */
export function concealmentOf(
  root: PolicyNode,
  couldBeAllowed: (question: Question) => boolean,
  showsBeneath: (question: Question) => unknown,
) {
  /** The facts are those of the other operation: what the refused one states does not matter. */
  function may(question: Question, permission: Permission): boolean {
    return couldBeAllowed({ ...question, permission, operation: describing[question.kind].operation })
  }

  function mayKnow(question: Question): boolean {
    if (knowing[question.kind].some((permission) => may(question, permission))) return true
    // Listings show it on the way to what is beneath it.
    return question.kind === 'namespace' && showsBeneath(question) !== undefined
  }

  function mayDescribe(question: Question): boolean {
    return may(question, describing[question.kind].permission)
  }

  function mayListReferences(question: Question): boolean {
    return may(question, 'ListTableTags') && may(question, 'ListTableBranches')
  }

  function conceals(question: Question): boolean {
    const { kind, id } = question
    // The root is there for everybody.
    if (id.length === 0) return false
    const depth = kind === 'namespace' ? id.length : id.length - 1
    const status = statusAt(nearest(root, id, depth))
    if (status !== undefined) return status === 404
    // Whoever sent no credential is asked for one, whether or not the object is there: that tells nothing of it.
    return question.principal.method !== 'anonymous' && !mayKnow(question)
  }

  return { conceals, mayKnow, mayDescribe, mayListReferences }
}

/** What the deepest namespace says that says something. */
function statusAt(start: PolicyNode): 403 | 404 | undefined {
  for (let node: PolicyNode | undefined = start; node !== undefined; node = node.parent) {
    if (node.onDeny !== undefined) return node.onDeny
  }
  return undefined
}
