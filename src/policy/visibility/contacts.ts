import type { Identifier } from '../../catalog-api/identifiers.ts'
import { getNamespaceDepth } from '../../catalog-api/object-kinds.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { Decision } from '../engine/decision.ts'
import { nearestNode, type PolicyNode } from '../engine/policy-node.ts'
import type { PolicyDocument } from '../language/policy-document.ts'

/** Creates `findContact` of a policy set. `canKnow` is whether the principal may know that the object exists. */
export function createContactFinder(
  documents: readonly PolicyDocument[],
  root: PolicyNode,
  canKnow: (request: AuthorizationRequest) => boolean,
): (request: AuthorizationRequest, decision: Decision) => string | undefined {
  const documentsWithContact = new Map(
    documents.filter(({ contact }) => contact !== undefined).map((document) => [document.name, document]),
  )

  /** The existence of the root is no secret. */
  function mayKnow(request: AuthorizationRequest): boolean {
    return request.id.length === 0 || canKnow(request)
  }

  return (request, { rule }) => {
    if (documentsWithContact.size === 0) return undefined
    const { kind, id } = request
    const mayKnowNamespace = (namespace: Identifier): boolean =>
      mayKnow({ ...request, kind: 'namespace', id: namespace })
    const denying = rule && documentsWithContact.get(rule.policy)
    // A deny can cover the names of some tables only, so its contact would tell that one of them was guessed.
    if (denying !== undefined && mayKnow(request) && mayKnowNamespace(denying.namespace))
      return denying.contact
    let node: PolicyNode | undefined = nearestNode(root, id, getNamespaceDepth(kind, id))
    for (; node !== undefined; node = node.parent) {
      if (node.contact !== undefined && mayKnowNamespace(id.slice(0, node.depth))) return node.contact
    }
    return undefined
  }
}
