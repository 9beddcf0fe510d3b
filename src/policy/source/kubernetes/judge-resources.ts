import type { PolicyNamespace } from '../../../config/policy-kubernetes-settings.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { ParsedFile } from '../parse-in-thread.ts'
import { listDelegatedPermissions } from './delegation-ceiling.ts'
import { judgeResource } from './judge-resource.ts'
import type { ScreenedResource } from './screen-resources.ts'
import type { Verdict } from './verdict.ts'

interface JudgedNamespace {
  readonly namespace: PolicyNamespace
  /** Oldest first. */
  readonly screened: readonly ScreenedResource[]
}

/** Judges the resources of a Kubernetes namespace. `parsed` has the content of their texts, by name. */
export function judgeResources(
  { namespace, screened }: JudgedNamespace,
  parsed: ReadonlyMap<string, ParsedFile>,
  vocabulary: PolicyVocabulary,
): readonly Verdict[] {
  const limits = namespace.platform
    ? undefined
    : { ...namespace, permissions: listDelegatedPermissions(vocabulary, namespace.additionalPermissions) }
  let conditions = 0
  return screened.map((one) => {
    if (!('text' in one)) return one
    const verdict = judgeResource(one.resource, parsed.get(one.text.name), limits)
    const count = countConditions(verdict)
    if (limits !== undefined && conditions + count > limits.maxConditions) {
      const message = `older policies have ${conditions} conditions and this one ${count}; expected at most ${limits.maxConditions} together`
      return { resource: one.resource, reason: 'QuotaExceeded', message }
    }
    conditions += count
    return verdict
  })
}

function countConditions({ documents = [] }: Verdict): number {
  return documents.flatMap(({ rules }) => rules).filter(({ condition }) => condition !== undefined).length
}
