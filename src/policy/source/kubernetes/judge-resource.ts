import { isSameIdentifier } from '../../../catalog-api/identifiers.ts'
import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import type { ParsedFile } from '../parse-in-thread.ts'
import { findDelegationViolations, type DelegationLimits } from './find-delegation-violations.ts'
import { nameOfResource } from './resource-text.ts'
import type { Verdict } from './verdict.ts'

/** Judges a parsed resource: of the platform if `limits` is undefined, otherwise of a delegated Kubernetes namespace. */
export function judgeResource(
  resource: KubernetesObject,
  { documents, problems }: ParsedFile = { documents: [], problems: [] },
  limits: DelegationLimits | undefined,
): Verdict {
  const [parsed] = documents
  const document = parsed && { ...parsed, name: nameOfResource(resource) }
  if (document === undefined || problems.length > 0) {
    const message = joinMessages(problems.map(({ line, column, message }) => `${line}:${column}: ${message}`))
    const hasRestrictions = limits === undefined && document !== undefined && isPlaced(document, resource)
    return {
      resource,
      reason: 'Invalid',
      message,
      ...(hasRestrictions && { document: keepRestrictions(document) }),
    }
  }
  const violations = limits === undefined ? [] : findDelegationViolations(document, limits)
  if (violations.length > 0) return { resource, reason: 'NotDelegated', message: joinMessages(violations) }
  const message = document.isShadow ? 'the policy is evaluated as shadow' : 'the policy is in force'
  return { resource, reason: 'Accepted', message, document }
}

/** Whether the namespace of the policy could be read. Otherwise its denies would apply to another one. */
function isPlaced({ namespace }: PolicyDocument, resource: KubernetesObject): boolean {
  const written = resource['namespace']
  return Array.isArray(written) && written.every(isText) && isSameIdentifier(written, namespace)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/**
 * An error must not lift a restriction: all of these that could be read stay. A deny whose condition cannot be read
 * applies without it.
 */
function keepRestrictions(document: PolicyDocument): PolicyDocument {
  return { ...document, rules: document.rules.filter(({ effect }) => effect === 'deny') }
}

const maxMessages = 20
const maxMessageLength = 300

/** One message a line. Limited, because they go to logs, and quote what was sent. */
function joinMessages(messages: readonly string[]): string {
  const shown = messages
    .slice(0, maxMessages)
    .map((message) =>
      message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message,
    )
  const hidden = messages.length - shown.length
  return [...shown, ...(hidden > 0 ? [`and ${hidden} more`] : [])].join('\n')
}
