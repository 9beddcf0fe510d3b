import { isSameIdentifier } from '../../../catalog-api/identifiers.ts'
import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'
import { unknown } from '../../conditions/fact.ts'
import { replaceVariable } from '../../language/placeholder.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { describeEach } from '../../language/policy-instance.ts'
import type { ParsedFile } from '../parse-in-thread.ts'
import { findDelegationViolations, type DelegationLimits } from './find-delegation-violations.ts'
import { qualifyName } from './resource-text.ts'
import type { Verdict } from './verdict.ts'

/** Judges a parsed resource: of the platform if `limits` is undefined, otherwise of a delegated Kubernetes namespace. */
export function judgeResource(
  resource: KubernetesObject,
  { documents: parsed, problems }: ParsedFile = { documents: [], problems: [] },
  limits: DelegationLimits | undefined,
): Verdict {
  const documents = parsed.map((one) => ({ ...one, name: qualifyName(resource, one.name) }))
  const [document] = documents
  if (document === undefined || problems.length > 0) {
    const message = joinMessages(problems.map(({ line, column, message }) => `${line}:${column}: ${message}`))
    const placed = limits === undefined ? documents.filter((one) => isPlaced(one, resource)) : []
    return { resource, reason: 'Invalid', message, documents: placed.map(keepRestrictions) }
  }
  const violations =
    limits === undefined ? [] : describeEach(documents, (one) => findDelegationViolations(one, limits))
  if (violations.length > 0) return { resource, reason: 'NotDelegated', message: joinMessages(violations) }
  const message = document.isShadow ? 'the policy is evaluated as shadow' : 'the policy is in force'
  return { resource, reason: 'Accepted', message, documents }
}

/** Whether the namespace of the policy could be read. Otherwise its denies would apply to another one. */
function isPlaced({ namespace, instance }: PolicyDocument, resource: KubernetesObject): boolean {
  const written = resource['namespace']
  if (!Array.isArray(written) || !written.every(isText)) return false
  const names = instance === undefined ? written : written.map((name) => replaceVariable(name, instance))
  return isSameIdentifier(names, namespace)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/**
 * An error must not lift a restriction: all of these that could be read stay. A deny whose condition cannot be read
 * applies without it, and the tags of the namespace and beneath are unknown.
 */
function keepRestrictions(document: PolicyDocument): PolicyDocument {
  const { tags, rules } = document
  return {
    ...document,
    tags: tags && { ...tags, namespace: unknown },
    rules: rules.filter(({ effect }) => effect === 'deny'),
  }
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
