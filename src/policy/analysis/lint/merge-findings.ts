import { groupBy } from '../../../lib/group-by.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { getPolicyName, mergeInstances } from '../../language/policy-instance.ts'
import type { Finding } from './finding.ts'

/** Merges the findings about the documents of each policy with `forEach`; see `mergeInstances`. */
export function mergeFindings(
  findings: readonly Finding[],
  documents: readonly PolicyDocument[],
): readonly Finding[] {
  const byName = new Map(documents.map((document) => [document.name, document]))
  const ofPolicy = groupBy(documents, getPolicyName)
  const groups = groupBy(findings, ({ policy = '' }) => {
    const document = byName.get(policy)
    return document === undefined ? '' : getPolicyName(document)
  })
  return [...groups].flatMap(([policy, group]) => {
    const count = ofPolicy.get(policy)?.length ?? 0
    const instances = group.map((item) => ({ item, instance: byName.get(item.policy ?? '')?.instance }))
    if (instances.every(({ instance }) => instance === undefined)) return group
    return mergeInstances(instances, count, ({ level, check, line, column }) =>
      [level, check, line, column].join(':'),
    )
  })
}
