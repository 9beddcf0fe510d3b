import type { AssertionSigner } from '../../identity/assertion/assertions.ts'
import type { CertificateMetrics } from '../../observability/metrics/certificate-metrics.ts'
import { registerUpstreamMetrics } from '../upstream/upstream-metrics.ts'
import { createCallerHeaders } from '../upstream/caller-headers.ts'
import { readUpstreamOptions } from '../upstream/upstream-files.ts'
import { createUpstreamLog } from '../upstream/upstream-log.ts'
import { createUpstreams, type Upstreams } from '../upstream/upstreams.ts'
import type { Bootstrap } from './open-observability.ts'

/** Opens the upstreams, and reads the files that their settings name. */
export async function openUpstreams(
  { settings, closers, metrics, log }: Bootstrap,
  assertions: AssertionSigner | undefined,
  certificates: CertificateMetrics,
): Promise<Upstreams> {
  const options = await Promise.all(
    settings.upstreams.map(async (upstream) => ({
      ...(await readUpstreamOptions(upstream)),
      callerHeaders: createCallerHeaders(upstream.name, upstream.identity, assertions),
    })),
  )
  for (const { name, tls } of options) certificates.setUpstream(name, tls.cert)
  const upstreams = createUpstreams(options, createUpstreamLog(log))
  closers.push(() => upstreams.close())
  registerUpstreamMetrics(metrics.registry, upstreams.all)
  return upstreams
}
