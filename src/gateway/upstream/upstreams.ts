import {
  assertSeparable,
  CatalogError,
  createExtraOperations,
  type Identifier,
  isWithin,
} from '../../catalog-api/index.ts'
import type { UpstreamAccess } from './own-client.ts'
import { createUpstream, type Upstream, type UpstreamOptions } from './upstream.ts'
import type { ReportHealth } from './upstream-health.ts'
import { fixed, type Followed, groupBy, readHeaderValue } from '../../lib/index.ts'
import type { Outbound } from '../../outbound/index.ts'
import { findCredentialProblem, type UpstreamSettings } from '../../config/index.ts'

/** The catalogs behind the gateway. */
export type Upstreams = ReturnType<typeof createUpstreams>

/** Creates the upstreams; exactly one must have no namespaces. */
export function createUpstreams(options: readonly UpstreamOptions[], report?: ReportHealth) {
  const all = options.map((each) => createUpstream(each, report))
  const root = all.find(({ namespaces }) => namespaces === undefined)
  if (root === undefined) throw new Error('no upstream serves the root')
  const mounts = all.flatMap((upstream) =>
    (upstream.namespaces ?? []).map((namespace) => ({ namespace, upstream })),
  )
  // Almost no id begins like a mount point; of those that it lies in, the longest counts.
  const byFirstPart = groupBy(
    mounts.toSorted((one, other) => other.namespace.length - one.namespace.length),
    ({ namespace: [first = ''] }) => first,
  )
  return {
    all,
    /** The upstream of everything that belongs to no other, and of operations without a namespace. */
    root,
    /** The operations of any upstream that the catalog API does not have. */
    extraOperations: createExtraOperations(options),
    /** Finds the upstream of an object: the one with the longest namespace that is a prefix of the id, part by part. */
    forId: (id: Identifier): Upstream =>
      byFirstPart.get(id[0] ?? '')?.find(({ namespace }) => isWithin(id, namespace))?.upstream ?? root,
    /** Names directly in a namespace that lead to mount points of other upstreams. */
    listMountNames: (parent: Identifier): string[] => {
      const beneath = mounts.filter(({ namespace }) => isWithin(namespace, parent))
      return [...new Set(beneath.flatMap(({ namespace }) => namespace[parent.length] ?? []))]
    },
    /** Whether an upstream other than the root is mounted at or below this namespace. */
    hasMountAtOrBelow: (parent: Identifier): boolean =>
      mounts.some(({ namespace }) => isWithin(namespace, parent)),
    close(): void {
      for (const upstream of all) upstream.close()
    },
  }
}

/** Returns the id, if a request for it is possible and would be sent to that upstream. `onInvalid` gets why it is invalid. */
export function findServedId(
  upstreams: Pick<Upstreams, 'forId'>,
  upstream: Upstream,
  identify: () => Identifier,
  onInvalid: (reason: CatalogError) => void = () => undefined,
): Identifier | undefined {
  try {
    const id = identify()
    assertSeparable(id, upstream.separators)
    return id.length > 0 && upstreams.forId(id) === upstream ? id : undefined
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    onInvalid(error)
    return undefined
  }
}

/**
 * Reads the files that the settings name, and follows them as `outbound` does. Throws if a file cannot be read, or
 * for a certificate, an authority or a key that cannot be used. `onCertificate` gets the
 * certificate of the gateway, now and after each change.
 */
export async function readUpstreamOptions(
  settings: UpstreamSettings,
  outbound: Outbound,
  onCertificate: (pem: string | undefined) => void = () => undefined,
): Promise<UpstreamAccess> {
  const setting = `upstreams.${settings.name}`
  const opener = await outbound.openClient(`${setting}.tls`, settings, ({ cert }) => onCertificate(cert))
  onCertificate(opener.material.cert)
  const credentials = await followCredential(settings, `${setting}.credential`, outbound)
  return { ...settings, opener, credentials }
}

function followCredential(
  { credential }: UpstreamSettings,
  setting: string,
  { follow }: Outbound,
): Promise<Followed<readonly string[]>> | Followed<readonly string[]> {
  if (credential === undefined) return fixed([])
  const { header, file, value = '' } = credential
  if (file === undefined) return fixed([header, value.trim()])
  const read = async (): Promise<readonly string[]> => {
    const value = await readHeaderValue(file)
    // A file with a token alone, as a Secret or a service account has it, is a Bearer token (RFC 6750).
    return [header, findCredentialProblem(header, value) === undefined ? value : `Bearer ${value}`]
  }
  return follow({ setting, files: [file], read })
}
