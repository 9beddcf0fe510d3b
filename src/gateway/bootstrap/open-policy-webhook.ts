import type { SecureContextOptions } from 'node:tls'
import type { PolicyWebhookSettings } from '../../config/policy-webhook-settings.ts'
import { createAdmissionServer } from '../../lib/kubernetes/admission-server.ts'
import { readServerCertificates } from '../../lib/tls/server-certificates.ts'
import { createResourceReviewer, type ReviewOptions } from '../../policy/source/kubernetes/review-resource.ts'
import type { Bootstrap } from './open-observability.ts'
import { watchCertificates } from './watch-certificates.ts'

/** Opens the webhook that validates AccessPolicy resources. Throws if its files or its port cannot be used. */
export async function openPolicyWebhook(
  { host, port, ...files }: PolicyWebhookSettings,
  reviewed: ReviewOptions,
  { closers, log }: Pick<Bootstrap, 'closers' | 'log'>,
): Promise<void> {
  const settings = { ...files, clientAuth: 'required' as const }
  const context = await readServerCertificates(settings)
  const server = createAdmissionServer({ context, review: createResourceReviewer(reviewed) })
  closers.push(() => server.close())
  log.info({ url: await server.listen({ host, port }) }, 'policy webhook opened')
  const onChange = (changed: SecureContextOptions): void => server.setCertificates(changed)
  const certificates = await watchCertificates({ settings, context, log, onChange })
  closers.push(() => certificates.close())
}
