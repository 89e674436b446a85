addEventListener('message', hear);
const { hostContext } = await request('ui/initialize', {
  appInfo: { name: 'loci', version: facts.version },
  appCapabilities: {},
  protocolVersion: '2026-01-26',
});
heed(hostContext || {});
new ResizeObserver(() => {
  const { width, height } = document.body.getBoundingClientRect();
  post({ method: 'ui/notifications/size-changed', params: { width: Math.ceil(width), height: Math.ceil(height) } });
}).observe(document.body);
post({ method: 'ui/notifications/initialized', params: {} });
