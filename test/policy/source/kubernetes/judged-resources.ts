import type {
  DelegatedNamespace,
  PolicyNamespace,
} from '../../../../src/config/policy-kubernetes-settings.ts'
import { runAtOnce } from '../../../../src/lib/async/run-in-slices.ts'
import type { KubernetesObject } from '../../../../src/lib/kubernetes/kubernetes-object.ts'
import { builtInVocabulary } from '../../../../src/policy/language/policy-vocabulary.ts'
import { parsePolicyFile } from '../../../../src/policy/source/parse-policy-file.ts'
import { judgeResources } from '../../../../src/policy/source/kubernetes/judge-resources.ts'
import { screenResources } from '../../../../src/policy/source/kubernetes/screen-resources.ts'
import type { Verdict } from '../../../../src/policy/source/kubernetes/verdict.ts'
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
    maxPolicies: 100,
    maxPolicyBytes: 65_536,
    maxConditions: 100,
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

/** Judges resources of one Kubernetes namespace, as a gateway does. */
export function judge(
  namespace: PolicyNamespace,
  ...resources: readonly KubernetesObject[]
): readonly Verdict[] {
  const screened = runAtOnce(screenResources(namespace, resources))
  const texts = screened.flatMap((one) => ('text' in one ? [one.text] : []))
  const parsed = new Map(texts.map((text) => [text.name, parsePolicyFile(text, builtInVocabulary)]))
  return judgeResources({ namespace, screened }, parsed, builtInVocabulary)
}
