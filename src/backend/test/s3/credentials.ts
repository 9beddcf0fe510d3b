/** The tests' credentials for the object store, by AWS's environment names. */
export const credentials = {
  AWS_ACCESS_KEY_ID: 'KEYOFTHETESTS',
  AWS_SECRET_ACCESS_KEY: 'secret-of-the-tests',
  AWS_REGION: 'us-east-1',
  /** Prevents lookups outside this machine. */
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
} as const
