import { readFile } from 'node:fs/promises'
import tls, { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import {
  fixed,
  type Followed,
  type FollowSetting,
  listTlsFiles,
  readOnce,
  readPemFile,
  readSecret,
  readTlsFiles,
  type TlsFiles,
  type TlsMaterial,
} from '../lib/index.ts'
import {
  parseNoProxy,
  createProxyFinder,
  readNoProxy,
  toBasicAuthorization,
  type FindProxy,
  type Proxy,
} from './proxies.ts'
import { createSocketOpener, type ConnectionDefaults, type SocketOpener } from './socket-opener.ts'

/** How all clients of the program open connections. */
export type Outbound = ReturnType<typeof createOutbound>

export interface OutboundSettings {
  /** PEM file of authorities to trust besides those of the system, unless a client has its own. */
  readonly caFile?: string | undefined
  readonly proxy?:
    | {
        readonly url?: string | undefined
        readonly credentialFile?: string | undefined
        readonly noProxy?: readonly string[] | undefined
      }
    | undefined
}

/** Reads the proxies of the environment and the files of the settings. Rejects if one of them cannot be used. */
export async function openOutbound(
  { caFile, proxy = {} }: OutboundSettings,
  environment: NodeJS.ProcessEnv,
  follow: FollowSetting,
): Promise<Outbound> {
  const ownProxy =
    proxy.url === undefined ? undefined : await openProxy(proxy.url, proxy.credentialFile, follow)
  const noProxy = proxy.noProxy ?? readNoProxy(environment)
  const findProxy = createProxyFinder(environment, ownProxy, noProxy)
  const authorities =
    caFile === undefined
      ? fixed(undefined)
      : await follow({
          setting: 'outbound.caFile',
          files: [caFile],
          read: () => readAuthorities(caFile, environment),
        })
  const malformedNoProxy = noProxy.filter((entry) => parseNoProxy(entry) === undefined)
  return createOutbound(findProxy, authorities, follow, malformedNoProxy)
}

/** The material of clients without TLS files of their own. */
const noMaterial: TlsMaterial = {}

function createOutbound(
  findProxy: FindProxy,
  authorities: Followed<string[] | undefined>,
  /** Follows the files of a client's credential. */
  follow: FollowSetting,
  /** Entries of `NO_PROXY` that match nothing. */
  malformedNoProxy: readonly string[] = [],
) {
  const contexts = new WeakMap<TlsMaterial, { readonly ca: unknown; readonly context: SecureContext }>()
  /** Returns the TLS options of a client, for libraries that open connections themselves. */
  const getTlsOptions = (material: TlsMaterial) =>
    material.ca === undefined && authorities.current !== undefined
      ? { ...material, ca: authorities.current }
      : material
  const defaults: ConnectionDefaults = {
    findProxy,
    getSecureContext(material) {
      const ca = authorities.current
      const isShared = material.ca === undefined && material.cert === undefined
      const key = isShared ? noMaterial : material
      const known = contexts.get(key)
      if (known !== undefined && known.ca === ca) return known.context
      // Takes up to 0.1 s of the event loop with the authorities of the system.
      const context = createSecureContext(getTlsOptions(material))
      contexts.set(key, { ca, context })
      return context
    },
    refreshAuthorities: () => authorities.refresh(),
  }
  return {
    ...defaults,
    malformedNoProxy,
    getTlsOptions,
    follow,
    /**
     * Opens connections with TLS files of the settings, which are followed. `setting` names them in reports:
     * `identity.introspection`. Rejects if one of them cannot be used. `onChange` gets later contents.
     */
    async openClient(
      setting: string,
      files: TlsFiles,
      onChange: (material: TlsMaterial) => void = () => undefined,
    ): Promise<SocketOpener> {
      const material = await follow({
        setting,
        files: listTlsFiles(files),
        read: () => readTlsFiles(files, `of ${setting}`),
        onChange,
      })
      return createSocketOpener(defaults, material)
    },
  }
}

/** Connections without a proxy, that trust the authorities of the system. */
export const directOutbound = createOutbound(() => undefined, fixed(undefined), readOnce)

async function openProxy(url: string, file: string | undefined, follow: FollowSetting): Promise<Proxy> {
  const authorization =
    file === undefined
      ? fixed(undefined)
      : await follow({
          setting: 'outbound.proxy.credentialFile',
          files: [file],
          read: () => readCredential(file),
        })
  return { url: new URL(url), authorization }
}

async function readCredential(file: string): Promise<string> {
  const pair = await readSecret(file)
  if (!pair.includes(':')) throw new Error(`expected USER:PASSWORD: ${file}`)
  return toBasicAuthorization(pair)
}

async function readAuthorities(file: string, environment: NodeJS.ProcessEnv): Promise<string[]> {
  return [...(await listDefaultAuthorities(environment)), await readPemFile(file, 'CERTIFICATE')]
}

/** PEM texts of the authorities that are trusted without settings, for libraries that have others. */
export async function listDefaultAuthorities(environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  // Not before Node 22.15.
  if ('getCACertificates' in tls) return tls.getCACertificates('default')
  const { NODE_EXTRA_CA_CERTS: extra } = environment
  return extra === undefined || extra === ''
    ? rootCertificates
    : [...rootCertificates, await readFile(extra, 'utf8')]
}
