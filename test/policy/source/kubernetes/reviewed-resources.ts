import type { DelegatedNamespace, PolicyNamespace } from '../../../../src/config/policy-settings.ts'
import type { KubernetesObject } from '../../../../src/kubernetes/kubernetes-client.ts'
import { builtInVocabulary } from '../../../../src/policy/language/policy-vocabulary.ts'
import { createReviewer, type Review } from '../../../../src/policy/source/kubernetes/review-resources.ts'
import type { WrittenPolicy } from '../../policy-builder.ts'

export const platform: PolicyNamespace = { platform: true, name: 'catalog-system' }

/** The Kubernetes namespace `team-a` with the namespace `prod.sales` of the catalog. */
export function createDelegation(changes: Partial<DelegatedNamespace> = {}): DelegatedNamespace {
  return {
    platform: false,
    name: 'team-a',
    uid: 'uid-of-team-a',
    catalogNamespaces: [['prod', 'sales']],
    subjects: {
      issuers: ['corp'],
      users: ['alice'],
      groups: ['sales'],
      keys: ['k1'],
      any: false,
      anonymous: false,
    },
    additionalPermissions: [],
    ...changes,
  }
}

export const grant: Omit<WrittenPolicy, 'name'> = {
  namespace: ['prod', 'sales'],
  rules: [{ id: 'reads', effect: 'allow', subjects: { groups: ['sales'] }, operations: ['read'] }],
}

/** A stored resource; `content` need not be valid. */
export function createResource(
  name: string,
  content: object,
  { namespace = 'team-a', ...metadata }: Readonly<Record<string, unknown>> & { namespace?: string } = {},
): KubernetesObject {
  return {
    apiVersion: 'catalog-gateway.dev/v1',
    kind: 'AccessPolicy',
    metadata: {
      name,
      namespace,
      uid: `uid of ${name}`,
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    ...content,
  }
}

/** Reviews resources of one Kubernetes namespace, as a gateway does. */
export function review(
  namespace: PolicyNamespace,
  ...resources: readonly KubernetesObject[]
): Promise<readonly Review[]> {
  return createReviewer(namespace, builtInVocabulary)({ resources, uid: namespace.uid })
}
