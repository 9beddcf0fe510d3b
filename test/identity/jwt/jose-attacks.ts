import type { KeyObject } from 'node:crypto'
import {
  claimsWith,
  derSigned,
  encode,
  macWith,
  padded,
  publicJwk,
  publicText,
  respellPart,
  signed,
  tampered,
  unsigned,
  type AttackTools,
  type JoseAttack,
} from './forged-tokens.ts'

const malformed = /^malformed_token$/
const algorithm = /^disallowed_algorithm$/
const signature = /^invalid_signature$/
const kid = /^unknown_kid$/
const critical = /^unsupported_crit$/
const criticalOrMalformed = /^unsupported_crit|malformed_token$/
const tokenType = /^wrong_token_type$/

const none: readonly JoseAttack[] = ['none', 'None', 'NONE', 'nOnE', 'none ', ''].flatMap((alg) => [
  [`alg "${alg}" without a signature (CVE-2015-9235)`, malformed, () => unsigned(alg)],
  [`alg "${alg}" with a signature`, /^disallowed_algorithm|malformed_token$/, () => unsigned(alg, 'AAAA')],
])

const confusion: readonly JoseAttack[] = [
  ...(
    [
      ['the PEM of the public key (CVE-2016-5431)', ({ rsa }) => publicText(rsa.key, 'spki', 'pem')],
      ['the PEM without its last line end', ({ rsa }) => String(publicText(rsa.key, 'spki', 'pem')).trim()],
      ['the PKCS #1 PEM (CVE-2022-39227)', ({ rsa }) => publicText(rsa.key, 'pkcs1', 'pem')],
      ['the DER of the public key', ({ rsa }) => publicText(rsa.key, 'spki', 'der')],
      ['the JWK of the public key', ({ rsa }) => JSON.stringify(rsa.published)],
      ['the modulus', ({ rsa }) => Buffer.from(rsa.published.n ?? '', 'base64url')],
      ['an empty secret (CVE-2019-20933)', () => ''],
    ] satisfies [string, (tools: AttackTools) => string | Buffer][]
  ).map(([name, secret]): JoseAttack => [`HS256 with ${name}`, algorithm, (tools) => macWith(secret(tools))]),
  ...['HS384', 'HS512'].map((alg): JoseAttack => [
    `${alg} with the public key`,
    algorithm,
    ({ rsa }) => macWith(publicText(rsa.key, 'spki', 'pem'), alg),
  ]),
  [
    'HS256 with the point of an EC key',
    algorithm,
    ({ ec }) => macWith(Buffer.from(ec.published.x ?? '', 'base64url'), 'HS256', 'ec'),
  ],
  [
    'HS256 with an Ed25519 key (CVE-2022-29217)',
    algorithm,
    ({ ed }) => macWith(Buffer.from(ed.published.x ?? '', 'base64url'), 'HS256', 'ed'),
  ],
  ['alg ES256K', algorithm, ({ ec }) => signed(ec, claimsWith(), { alg: 'ES256K' })],
  ['an RSA kid with the signature of an EC key', kid, ({ ec }) => signed({ ...ec, kid: 'rsa' })],
  ['an Ed25519 alg with the kid of an RSA key', kid, ({ ed }) => signed({ ...ed, kid: 'rsa' })],
  ['an RSA alg with the kid of an Ed25519 key', kid, ({ rsa }) => signed({ ...rsa, kid: 'ed' })],
]

/** Header members of a token that the issuer has signed. */
const headers: readonly [name: string, reason: RegExp, header: Record<string, unknown>][] = [
  ['alg in lower case', algorithm, { alg: 'rs256' }],
  ['alg of another hash', algorithm, { alg: 'RS512' }],
  ['alg of another padding', algorithm, { alg: 'PS256' }],
  ['alg RS1', algorithm, { alg: 'RS1' }],
  ['alg missing', malformed, { alg: undefined }],
  ['alg as a list', malformed, { alg: ['RS256'] }],
  ['alg null', malformed, { alg: null }],
  ['a kid that is a path', kid, { kid: '../../../../dev/null' }],
  ['a kid that is empty', kid, { kid: '' }],
  ['a kid that is a number', kid, { kid: 7 }],
  ['a kid that is an object', kid, { kid: { toString: 'rsa' } }],
  ['a kid that is the prototype', kid, { kid: '__proto__' }],
  ['a kid that is a method', kid, { kid: 'constructor' }],
  ['a kid that is in upper case', kid, { kid: 'RSA' }],
  ['a kid that is 10,000 characters long', kid, { kid: 'k'.repeat(10_000) }],
  ['crit with an unknown extension', critical, { crit: ['sudo'], sudo: true }],
  ['crit with a registered parameter', criticalOrMalformed, { crit: ['alg'] }],
  ['crit with exp', critical, { crit: ['exp'], exp: 1 }],
  ['crit with what is not there', criticalOrMalformed, { crit: ['b64'] }],
  ['crit empty', malformed, { crit: [] }],
  ['crit as text', malformed, { crit: 'b64' }],
  ['crit null', malformed, { crit: null }],
  ['crit with a name twice', criticalOrMalformed, { crit: ['sudo', 'sudo'], sudo: 1 }],
  ['b64 false (RFC 7797), which no JWT may use', malformed, { b64: false, crit: ['b64'] }],
  ['b64 as text', malformed, { b64: 'false', crit: ['b64'] }],
  ['a logout token', tokenType, { typ: 'logout+jwt' }],
  ['an empty type', tokenType, { typ: '' }],
]

/** Header members that bring the key with which the attacker has signed. */
const broughtKeys: readonly [name: string, header: (own: KeyObject) => Record<string, unknown>][] = [
  ['a key in jwk (CVE-2018-0114)', (own) => ({ jwk: publicJwk(own, 'rsa') })],
  ['a key in jwk without kid', (own) => ({ kid: undefined, jwk: publicJwk(own, 'own') })],
  ['keys at jku of the issuer with a path back', () => ({ jku: 'https://corp.example/../attacker' })],
  ['a certificate in x5c', () => ({ x5c: ['MIIB'] })],
  ['a thumbprint in x5t', () => ({ x5t: 'AAAA', 'x5t#S256': 'AAAA' })],
]

/** Changes of the parts of a good token. */
const changedParts: readonly [
  name: string,
  reason: RegExp,
  key: 'rsa' | 'ec' | 'ed',
  change: (parts: readonly [string, string, string]) => readonly string[],
][] = [
  ['the signature stripped', malformed, 'rsa', ([header, claims]) => [header, claims, '']],
  ['the signature and its dot stripped', malformed, 'rsa', ([header, claims]) => [header, claims]],
  ['the payload detached', malformed, 'rsa', ([header, , mark]) => [header, '', mark]],
  ['the header empty', malformed, 'rsa', ([, claims, mark]) => ['', claims, mark]],
  ['a fourth part', malformed, 'rsa', (parts) => [...parts, 'AAAA']],
  ['five parts, as if it were encrypted', malformed, 'rsa', (parts) => [...parts, 'AAAA', 'AAAA']],
  ['a signature with padding', malformed, 'rsa', ([header, claims, mark]) => [header, claims, `${mark}==`]],
  [
    'a signature in the other base64 alphabet',
    malformed,
    'rsa',
    ([header, claims, mark]) => [header, claims, `+/${mark.slice(2)}`],
  ],
  [
    'another spelling of the same signature',
    malformed,
    'ed',
    ([header, claims, mark]) => [header, claims, respellPart(mark)],
  ],
  [
    'the signature of other claims',
    signature,
    'rsa',
    ([header, , mark]) => [header, encode(claimsWith({ sub: 'root' })), mark],
  ],
  [
    'the signature of another header',
    signature,
    'rsa',
    ([, claims, mark]) => [encode({ alg: 'RS256', kid: 'rsa', x: 1 }), claims, mark],
  ],
  [
    'a signature cut off',
    /^invalid_signature|malformed_token$/,
    'rsa',
    ([header, claims, mark]) => [header, claims, mark.slice(0, -4)],
  ],
  [
    'a signature with bytes behind it',
    signature,
    'ed',
    ([header, claims, mark]) => [
      header,
      claims,
      encode(Buffer.concat([Buffer.from(mark, 'base64url'), Buffer.from([0])])),
    ],
  ],
]

/** Signatures that can be written without the key. */
const writtenSignatures: readonly [name: string, key: 'rsa' | 'ec' | 'ed', signature: Buffer][] = [
  ['an RSA signature of zeros', 'rsa', Buffer.alloc(256)],
  ['ES256 with r and s zero (CVE-2022-21449)', 'ec', Buffer.alloc(64)],
  [
    'ES256 with r and s the order of the curve',
    'ec',
    Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'.repeat(2), 'hex'),
  ],
  ['an Ed25519 signature of zeros', 'ed', Buffer.alloc(64)],
]

const forms: readonly JoseAttack[] = [
  [
    'encrypted with a shared key (dir)',
    malformed,
    () => `${encode({ alg: 'dir', enc: 'A256GCM' })}..AAAA.AAAA.AAAA`,
  ],
  [
    'encrypted with a hostile p2c (CVE-2023-52428)',
    malformed,
    () =>
      `${encode({ alg: 'PBES2-HS256+A128KW', p2c: 2_147_483_647, p2s: 'AAAA', enc: 'A128GCM' })}.AAAA.AAAA.AAAA.AAAA`,
  ],
  ['a token in a token', malformed, ({ rsa }) => signed(rsa, signed(rsa), { cty: 'JWT' })],
  [
    'a compressed payload (zip)',
    malformed,
    ({ rsa }) => signed(rsa, Buffer.from('ab56ca2c5056b252ca', 'hex'), { zip: 'DEF' }),
  ],
  [
    'another spelling of the same header',
    malformed,
    ({ ed }) =>
      tampered(signed(ed, claimsWith(), padded(ed)), ([header, ...rest]) => [respellPart(header), ...rest]),
  ],
  ['an ES256 signature in DER', signature, ({ ec }) => derSigned(ec)],
]

/** The JWS JSON Serialization and similar forms are rejected before parsing: the header does not permit them. */
export const noBearerTokens: readonly string[] = [
  '{"payload":"e30","protected":"e30","signature":"AA"}',
  '{"payload":"e30","signatures":[]}',
  'a.b.c d.e.f',
  'a.b.c,d.e.f',
  'a.b.c\u00e9',
  '"a.b.c"',
]

/** Attacks on algorithm, key, header and form of a token, using only the public keys of the issuer. */
export const joseAttacks: readonly JoseAttack[] = [
  ...none,
  ...confusion,
  ...headers.map(([name, reason, header]): JoseAttack => [
    name,
    reason,
    ({ rsa }) => signed(rsa, claimsWith(), header),
  ]),
  ...broughtKeys.map(([name, header]): JoseAttack => [
    name,
    signature,
    ({ own, rsa }) => signed({ ...rsa, key: own }, claimsWith(), header(own)),
  ]),
  ...changedParts.map(([name, reason, key, change]): JoseAttack => [
    name,
    reason,
    ({ [key]: signer }) => tampered(signed(signer), change),
  ]),
  ...writtenSignatures.map(([name, key, written]): JoseAttack => [
    name,
    signature,
    ({ [key]: signer }) => tampered(signed(signer), ([header, claims]) => [header, claims, encode(written)]),
  ]),
  ...forms,
]
