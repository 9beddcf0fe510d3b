import type { PolicyWebhookSettings } from '../../config/policy-webhook-settings.ts'
import { createAdmissionServer } from '../../lib/kubernetes/admission-server.ts'
import { listServerCertificateFiles, readServerCertificates } from '../../lib/tls/server-certificates.ts'
import { createResourceReviewer, type ReviewOptions } from '../../policy/source/kubernetes/review-resource.ts'
import type { Bootstrap } from './open-observability.ts'

/** Opens the webhook that validates AccessPolicy resources. Throws if its files or its port cannot be used. */
export async function openPolicyWebhook(
  { host, port, ...tls }: PolicyWebhookSettings,
  reviewed: ReviewOptions,
  { closers, log, files }: Pick<Bootstrap, 'closers' | 'log' | 'files'>,
): Promise<void> {
  const settings = { ...tls, clientAuth: 'required' as const }
  const certificates = await files.follow({
    setting: 'policies.kubernetes.webhook',
    files: listServerCertificateFiles(settings),
    read: () => readServerCertificates(settings),
    onChange: (context) => server.setCertificates(context),
  })
  const context = certificates.current
  const server = createAdmissionServer({ context, review: createResourceReviewer(reviewed) })
  closers.push(() => server.close())
  log.info({ url: await server.listen({ host, port }) }, 'policy webhook opened')
}
