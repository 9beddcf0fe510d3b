/** Every page of the site by task, as its file without `.md`; a page is called what its first heading says. */
export const pagesByTask: Readonly<Record<string, readonly string[]>> = {
  'Get started': ['docs/getting-started', 'docs/README', 'docs/troubleshooting', 'examples/compose/README'],
  Policies: ['policies/README', 'docs/recipes', 'docs/policy-testing', 'docs/policy-reference'],
  Identity: ['docs/authentication'],
  Upstreams: ['docs/upstreams', 'docs/catalog'],
  Clients: ['docs/clients'],
  Audit: ['docs/audit', 'examples/collector/README'],
  Operate: ['docs/operations', 'docs/observability', 'docs/traffic'],
  Kubernetes: ['helm/catalog-gateway/README', 'docs/kubernetes-policies', 'examples/kubernetes/README'],
  Reference: ['CONFIGURATION', 'docs/commands', 'src/README', 'examples/embed/README', 'CHANGELOG'],
  Security: ['docs/security', 'SECURITY', 'CONTRIBUTING'],
}
