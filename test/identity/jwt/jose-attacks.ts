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
  type JoseAttack,
} from './forged-tokens.ts'

const malformed = /^malformed_token$/
const algorithm = /^disallowed_algorithm$/
const signature = /^invalid_signature$/
const kid = /^unknown_kid$/

const none: readonly JoseAttack[] = ['none', 'None', 'NONE', 'nOnE', 'none ', ''].flatMap((alg) => [
  [`alg "${alg}" without a signature (CVE-2015-9235)`, malformed, () => unsigned(alg)],
  [`alg "${alg}" with a signature`, /^disallowed_algorithm|malformed_token$/, () => unsigned(alg, 'AAAA')],
])

const confusion: readonly JoseAttack[] = [
  [
    'HS256 with the PEM of the public key (CVE-2016-5431)',
    algorithm,
    ({ rsa }) => macWith(publicText(rsa.key, 'spki', 'pem')),
  ],
  [
    'HS256 with the PEM without its last line end',
    algorithm,
    ({ rsa }) => macWith(String(publicText(rsa.key, 'spki', 'pem')).trim()),
  ],
  [
    'HS256 with the PKCS #1 PEM (CVE-2022-39227)',
    algorithm,
    ({ rsa }) => macWith(publicText(rsa.key, 'pkcs1', 'pem')),
  ],
  [
    'HS256 with the DER of the public key',
    algorithm,
    ({ rsa }) => macWith(publicText(rsa.key, 'spki', 'der')),
  ],
  ['HS256 with the JWK of the public key', algorithm, ({ rsa }) => macWith(JSON.stringify(rsa.published))],
  [
    'HS256 with the modulus',
    algorithm,
    ({ rsa }) => macWith(Buffer.from(rsa.published.n ?? '', 'base64url')),
  ],
  ['HS384 with the public key', algorithm, ({ rsa }) => macWith(publicText(rsa.key, 'spki', 'pem'), 'HS384')],
  ['HS512 with the public key', algorithm, ({ rsa }) => macWith(publicText(rsa.key, 'spki', 'pem'), 'HS512')],
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
  ['HS256 with an empty secret (CVE-2019-20933)', algorithm, () => macWith('')],
  ['alg in lower case', algorithm, ({ rsa }) => signed(rsa, claimsWith(), { alg: 'rs256' })],
  ['alg of another hash', algorithm, ({ rsa }) => signed(rsa, claimsWith(), { alg: 'RS512' })],
  ['alg of another padding', algorithm, ({ rsa }) => signed(rsa, claimsWith(), { alg: 'PS256' })],
  ['alg RS1', algorithm, ({ rsa }) => signed(rsa, claimsWith(), { alg: 'RS1' })],
  ['alg ES256K', algorithm, ({ ec }) => signed(ec, claimsWith(), { alg: 'ES256K' })],
  ['alg missing', malformed, ({ rsa }) => signed(rsa, claimsWith(), { alg: undefined })],
  ['alg as a list', malformed, ({ rsa }) => signed(rsa, claimsWith(), { alg: ['RS256'] })],
  ['alg null', malformed, ({ rsa }) => signed(rsa, claimsWith(), { alg: null })],
  ['an RSA kid with the signature of an EC key', kid, ({ ec }) => signed({ ...ec, kid: 'rsa' })],
  ['an Ed25519 alg with the kid of an RSA key', kid, ({ ed }) => signed({ ...ed, kid: 'rsa' })],
  ['an RSA alg with the kid of an Ed25519 key', kid, ({ rsa }) => signed({ ...rsa, kid: 'ed' })],
]

const brought: readonly JoseAttack[] = [
  [
    'a key in jwk (CVE-2018-0114)',
    signature,
    ({ own, rsa }) => signed({ ...rsa, key: own }, claimsWith(), { jwk: publicJwk(own, 'rsa') }),
  ],
  [
    'a key in jwk without kid',
    signature,
    ({ own, rsa }) =>
      signed({ ...rsa, key: own }, claimsWith(), { kid: undefined, jwk: publicJwk(own, 'own') }),
  ],
  [
    'keys at jku',
    signature,
    ({ own, rsa }) => signed({ ...rsa, key: own }, claimsWith(), { jku: 'https://attacker.example/keys' }),
  ],
  [
    'keys at jku of the issuer with a path back',
    signature,
    ({ own, rsa }) => signed({ ...rsa, key: own }, claimsWith(), { jku: 'https://corp.example/../attacker' }),
  ],
  [
    'a certificate at x5u',
    signature,
    ({ own, rsa }) => signed({ ...rsa, key: own }, claimsWith(), { x5u: 'https://attacker.example/c.pem' }),
  ],
  [
    'a certificate in x5c',
    signature,
    ({ own, rsa }) => signed({ ...rsa, key: own }, claimsWith(), { x5c: ['MIIB'] }),
  ],
  [
    'a thumbprint in x5t',
    signature,
    ({ own, rsa }) => signed({ ...rsa, key: own }, claimsWith(), { x5t: 'AAAA', 'x5t#S256': 'AAAA' }),
  ],
  ...[
    ['a path', '../../../../dev/null'],
    ['a path with a NUL', '../../../etc/passwd\u0000'],
    ['SQL', "x' UNION SELECT 'secret';--"],
    ['a command', '|whoami'],
    ['a URL', 'https://attacker.example/key'],
    ['empty', ''],
    ['a number', 7],
    ['a list', ['rsa']],
    ['an object', { toString: 'rsa' }],
    ['true', true],
    ['the prototype', '__proto__'],
    ['a method', 'constructor'],
    ['in upper case', 'RSA'],
    ['with a space', 'rsa '],
    ['10,000 characters long', 'k'.repeat(10_000)],
  ].map(([name, value]): JoseAttack => [
    `a kid that is ${String(name)}`,
    kid,
    ({ rsa }) => signed(rsa, claimsWith(), { kid: value }),
  ]),
]

const critical: readonly JoseAttack[] = [
  [
    'crit with an unknown extension',
    /^unsupported_crit$/,
    ({ rsa }) => signed(rsa, claimsWith(), { crit: ['sudo'], sudo: true }),
  ],
  [
    'crit with a registered parameter',
    /^unsupported_crit|malformed_token$/,
    ({ rsa }) => signed(rsa, claimsWith(), { crit: ['alg'] }),
  ],
  ['crit with exp', /^unsupported_crit$/, ({ rsa }) => signed(rsa, claimsWith(), { crit: ['exp'], exp: 1 })],
  [
    'crit with what is not there',
    /^unsupported_crit|malformed_token$/,
    ({ rsa }) => signed(rsa, claimsWith(), { crit: ['b64'] }),
  ],
  ['crit empty', malformed, ({ rsa }) => signed(rsa, claimsWith(), { crit: [] })],
  ['crit as text', malformed, ({ rsa }) => signed(rsa, claimsWith(), { crit: 'b64' })],
  ['crit null', malformed, ({ rsa }) => signed(rsa, claimsWith(), { crit: null })],
  [
    'crit with a name twice',
    /^unsupported_crit|malformed_token$/,
    ({ rsa }) => signed(rsa, claimsWith(), { crit: ['sudo', 'sudo'], sudo: 1 }),
  ],
  [
    'crit with a number',
    /^unsupported_crit|malformed_token$/,
    ({ rsa }) => signed(rsa, claimsWith(), { crit: [1] }),
  ],
  [
    'b64 false (RFC 7797), which no JWT may use',
    malformed,
    ({ rsa }) => signed(rsa, claimsWith(), { b64: false, crit: ['b64'] }),
  ],
  ['b64 as text', malformed, ({ rsa }) => signed(rsa, claimsWith(), { b64: 'false', crit: ['b64'] })],
]

const forms: readonly JoseAttack[] = [
  [
    'the signature stripped',
    malformed,
    ({ rsa }) => tampered(signed(rsa), ([header, claims]) => `${header}.${claims}.`),
  ],
  [
    'the signature and its dot stripped',
    malformed,
    ({ rsa }) => tampered(signed(rsa), ([header, claims]) => `${header}.${claims}`),
  ],
  [
    'the payload detached',
    malformed,
    ({ rsa }) => tampered(signed(rsa), ([header, , mark]) => `${header}..${mark}`),
  ],
  [
    'the header empty',
    malformed,
    ({ rsa }) => tampered(signed(rsa), ([, claims, mark]) => `.${claims}.${mark}`),
  ],
  ['a fourth part', malformed, ({ rsa }) => `${signed(rsa)}.AAAA`],
  ['five parts, as if it were encrypted', malformed, ({ rsa }) => `${signed(rsa)}.AAAA.AAAA`],
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
  ['a signature with padding', malformed, ({ rsa }) => `${signed(rsa)}==`],
  [
    'a signature in the other base64 alphabet',
    malformed,
    ({ rsa }) => tampered(signed(rsa), ([header, claims, mark]) => `${header}.${claims}.+/${mark.slice(2)}`),
  ],
  [
    'another spelling of the same signature',
    malformed,
    ({ ed }) => tampered(signed(ed), ([header, claims, mark]) => `${header}.${claims}.${respellPart(mark)}`),
  ],
  [
    'another spelling of the same header',
    malformed,
    ({ ed }) =>
      tampered(
        signed(ed, claimsWith(), padded(ed)),
        ([header, claims, mark]) => `${respellPart(header)}.${claims}.${mark}`,
      ),
  ],
  [
    'the signature of other claims',
    signature,
    ({ rsa }) =>
      tampered(signed(rsa), ([header, , mark]) => `${header}.${encode(claimsWith({ sub: 'root' }))}.${mark}`),
  ],
  [
    'the signature of another header',
    signature,
    ({ rsa }) =>
      tampered(
        signed(rsa),
        ([, claims, mark]) => `${encode({ alg: 'RS256', kid: 'rsa', x: 1 })}.${claims}.${mark}`,
      ),
  ],
  [
    'a signature cut off',
    /^invalid_signature|malformed_token$/,
    ({ rsa }) =>
      tampered(signed(rsa), ([header, claims, mark]) => `${header}.${claims}.${mark.slice(0, -4)}`),
  ],
  [
    'a signature with bytes behind it',
    signature,
    ({ ed }) =>
      tampered(
        signed(ed),
        ([header, claims, mark]) =>
          `${header}.${claims}.${encode(Buffer.concat([Buffer.from(mark, 'base64url'), Buffer.from([0])]))}`,
      ),
  ],
  [
    'an RSA signature of zeros',
    signature,
    ({ rsa }) =>
      tampered(signed(rsa), ([header, claims]) => `${header}.${claims}.${encode(Buffer.alloc(256))}`),
  ],
  [
    'ES256 with r and s zero (CVE-2022-21449)',
    signature,
    ({ ec }) => tampered(signed(ec), ([header, claims]) => `${header}.${claims}.${encode(Buffer.alloc(64))}`),
  ],
  [
    'ES256 with r and s the order of the curve',
    signature,
    ({ ec }) =>
      tampered(
        signed(ec),
        ([header, claims]) =>
          `${header}.${claims}.${encode(Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'.repeat(2), 'hex'))}`,
      ),
  ],
  ['an ES256 signature in DER', signature, ({ ec }) => derSigned(ec)],
  [
    'an Ed25519 signature of zeros',
    signature,
    ({ ed }) => tampered(signed(ed), ([header, claims]) => `${header}.${claims}.${encode(Buffer.alloc(64))}`),
  ],
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
export const joseAttacks: readonly JoseAttack[] = [...none, ...confusion, ...brought, ...critical, ...forms]
