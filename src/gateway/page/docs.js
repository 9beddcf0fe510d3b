const ui = Reflect.get(
  globalThis,
  'SwaggerUIBundle',
)({
  url: document.querySelector('link[rel="service-desc"]')?.getAttribute('href'),
  dom_id: '#swagger-ui',
  // Without a field for the URL of another document.
  layout: 'BaseLayout',
  deepLinking: true,
  displayOperationId: true,
  defaultModelsExpandDepth: 0,
  // Sends the document to no other server.
  validatorUrl: null,
  // A reload of the page removes the credential.
  persistAuthorization: false,
})
ui.initOAuth({})
