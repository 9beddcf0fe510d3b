import { createExtraOperations } from '../../catalog-api/extra-operation.ts'
import type { GatewaySettings } from '../../config/index.ts'
import { listCommonSeparators } from '../../catalog-api/identifiers.ts'
import { createPolicyVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'

/** Creates the vocabulary of policies of a gateway with these settings. */
export function createSettingsVocabulary({
  upstreams,
  unsafe,
}: Pick<GatewaySettings, 'upstreams' | 'unsafe'>): PolicyVocabulary {
  return createPolicyVocabulary({
    extraOperations: createExtraOperations(upstreams),
    acceptsDevelopment: unsafe.includes('development-policies'),
    separators: listCommonSeparators(upstreams.map(({ delimiter }) => delimiter)),
  })
}
