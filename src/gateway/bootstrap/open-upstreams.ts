import type { Assertions } from '../../identity/assertions.ts'
import type { ObservedCertificates } from '../observe/observe-certificates.ts'
import { observeUpstreams } from '../observe/observe-upstreams.ts'
import { callerHeadersFor } from '../upstream/caller-headers.ts'
import { readUpstreamFiles } from '../upstream/upstream-files.ts'
import { createUpstreams, type Upstreams } from '../upstream/upstreams.ts'
import type { Bootstrap } from './open-observability.ts'

/** Opens the upstreams, with the files that their settings name. */
export async function openUpstreams(
  { settings, closers, metrics }: Bootstrap,
  assertions: Assertions | undefined,
  certificates: ObservedCertificates,
): Promise<Upstreams> {
  const options = await Promise.all(
    settings.upstreams.map(async (upstream) => ({
      ...(await readUpstreamFiles(upstream)),
      callerHeaders: callerHeadersFor(upstream.name, upstream.identity, assertions),
    })),
  )
  for (const { name, tls } of options) certificates.upstream(name, tls.cert)
  const upstreams = createUpstreams(options)
  closers.push(() => upstreams.close())
  observeUpstreams(metrics.registry, upstreams.all)
  return upstreams
}
