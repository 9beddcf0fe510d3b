import { stringify } from 'yaml'
import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-client.ts'
import { policyKind, policyResourceName, resourceApiVersion } from '../../language/api-version.ts'
import type { PolicyText } from '../parse-policy-files.ts'

/**
 * Returns the name of a document of a resource in decisions, logs and audit records. Files cannot have it: their names
 * contain no slash.
 */
export function qualifyName({ metadata }: KubernetesObject, document: string): string {
  return `${metadata.namespace}/${document}`
}

/** What decisions and errors name as the file of a resource. */
export function fileOfResource(resource: KubernetesObject): string {
  return `${policyResourceName}/${qualifyName(resource, resource.metadata.name)}`
}

/** Returns what the writer of a resource wrote, without what the API server and gateways add to it. */
export function getWrittenContent(resource: KubernetesObject): Readonly<Record<string, unknown>> {
  const { status: _status, metadata, ...content } = resource
  const { managedFields: _managedFields, ...written } = metadata
  return { ...content, apiVersion: resourceApiVersion, kind: policyKind, metadata: written }
}

/** Formats a resource as `kubectl get --output yaml` does, so that lines and columns in errors are those shown there. */
export function formatResource(resource: KubernetesObject): PolicyText {
  const text = stringify(getWrittenContent(resource), {
    aliasDuplicateObjects: false,
    indentSeq: false,
    lineWidth: 0,
    sortMapEntries: true,
  })
  return { name: fileOfResource(resource), bytes: Buffer.from(text) }
}
