import { formatCount } from '../../lib/format-count.ts'
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { formatExample } from '../common/format-example.ts'
import { parsePositiveInteger } from '../common/arguments.ts'
import { replaceFile } from '../../lib/fs/replace-file.ts'
import { publicKeyId } from '../../lib/tls/public-key-id.ts'
import { openSignedBundle, signBundle, listBundleFiles } from '../../policy/source/policy-bundle.ts'
import { assertAnyPolicy, compilePolicyTexts } from '../../policy/source/load-policies.ts'
import { withFileErrors } from '../../policy/source/policy-files.ts'
import { createFolderLocation } from '../../policy/source/policy-location.ts'
import { readPublicKey } from '../../policy/source/open-policy-location.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { printLine, type Io } from '../common/io.ts'
import { configOption, readPolicyContext } from './policy-context.ts'
import { policiesOption } from './policy-sources.ts'

/** Policies are no secret, and another user may run the gateway. */
const newBundleMode = 0o644

interface SignOptions {
  readonly policies: string
  readonly config?: string
  readonly key: string
  readonly serial: number
  readonly out: string
}

interface VerifyOptions {
  readonly publicKey: string
  readonly config?: string
}

export function addBundle(policy: Command, io: Io): void {
  policy
    .command('bundle')
    .description('bundle a folder of policies into one signed file')
    .requiredOption(...policiesOption)
    .requiredOption('--key <file>', 'the private Ed25519 key that signs it (PKCS #8, PEM)')
    .requiredOption(
      '--serial <number>',
      'serial number; must be higher than that of the previous bundle',
      parsePositiveInteger,
    )
    .requiredOption('--out <file>', 'output file')
    .option(...configOption)
    .addHelpText(
      'after',
      formatExample(
        'openssl genpkey -algorithm ed25519 -out bundle-key.pem',
        'openssl pkey -in bundle-key.pem -pubout -out bundle-key.pub.pem',
        'catalog-gateway policy bundle --policies policies --key bundle-key.pem --serial 1 --out policies.bundle',
      ),
    )
    .action((options: SignOptions) => bundle(options, io))
}

export function addVerifyBundle(policy: Command, io: Io): void {
  policy
    .command('verify-bundle')
    .description('check the signature of a bundle and the policies in it')
    .argument('<file>', 'the bundle')
    .requiredOption('--public-key <file>', 'the public key of the signer (SPKI, PEM)')
    .option(...configOption)
    .addHelpText(
      'after',
      formatExample('catalog-gateway policy verify-bundle policies.bundle --public-key bundle-key.pub.pem'),
    )
    .action((file: string, options: VerifyOptions) => verifyBundle(file, options, io))
}

async function bundle({ policies, config, key: keyFile, serial, out }: SignOptions, io: Io): Promise<void> {
  const { vocabulary } = await readPolicyContext({ config }, io)
  // Read once: the signed files are those that were checked.
  const { files, set } = await runStep(`the policies in ${policies} cannot be used`, async () => {
    const { files } = await createFolderLocation(policies).read()
    const set = compilePolicyTexts(files, vocabulary)
    assertAnyPolicy(policies, set.size)
    return { files, set }
  })
  const key = await runStep('the key cannot be used', () => readPrivateKey(keyFile))
  const texts = Object.fromEntries(
    files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString('utf8')]),
  )
  await runStep(`${out} cannot be written`, () =>
    replaceFile(out, () => signBundle({ serial, files: texts }, key), newBundleMode),
  )
  const id = publicKeyId(createPublicKey(key))
  printLine(
    io,
    `wrote ${out}: ${formatCount(set.size, 'policy', 'policies')}, revision ${set.revision}, serial ${serial}, key ${id}`,
  )
}

async function verifyBundle(file: string, { publicKey, config }: VerifyOptions, io: Io): Promise<void> {
  const { vocabulary } = await readPolicyContext({ config }, io)
  const key = await runStep('the key cannot be used', () => readPublicKey(publicKey))
  const { serial, texts, set } = await runStep(`the policies in ${file} cannot be used`, async () => {
    const bundle = openSignedBundle(await withFileErrors(file, () => readFile(file, 'utf8')), [key], file)
    const texts = listBundleFiles(bundle)
    return { serial: bundle.serial, texts, set: compilePolicyTexts(texts, vocabulary) }
  })
  printLine(
    io,
    `valid: ${formatCount(set.size, 'policy', 'policies')}, revision ${set.revision}, serial ${serial}, key ${publicKeyId(key)}`,
  )
  for (const { name } of texts) printLine(io, `  ${name}`)
}

async function readPrivateKey(file: string): Promise<KeyObject> {
  const key = createPrivateKey(await readFile(file, 'utf8'))
  if (key.asymmetricKeyType === 'ed25519') return key
  throw new CommandFailure(
    `${file} contains a key of type ${String(key.asymmetricKeyType)}; expected Ed25519`,
  )
}
