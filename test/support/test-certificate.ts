/**
 * Only for tests. Valid for 127.0.0.1 and localhost for a hundred years:
 *
 *     openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 \
 *       -subj "/CN=mail server of a test" -addext "subjectAltName=IP:127.0.0.1,DNS:localhost"
 */
export const testCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+laaFkqJ5hCIaTYs
HPZM9pcTIgxgkNAZsvgwi8zXWhShRANCAARXMEzPCEU15jT4OrmLOUi6nHCwAYFt
4GmtKqN47PYN5c4zAyP30HuEA4XaLuduu3OsZSU6arEOEaChYovbPtCs
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBtDCCAVmgAwIBAgIURGh4jjjy3bstzypquXMLkdo7iQcwCgYIKoZIzj0EAwIw
IDEeMBwGA1UEAwwVbWFpbCBzZXJ2ZXIgb2YgYSB0ZXN0MCAXDTI2MTEyNDE4NDQz
N1oYDzIxMjYxMDMxMTg0NDM3WjAgMR4wHAYDVQQDDBVtYWlsIHNlcnZlciBvZiBh
IHRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARXMEzPCEU15jT4OrmLOUi6
nHCwAYFt4GmtKqN47PYN5c4zAyP30HuEA4XaLuduu3OsZSU6arEOEaChYovbPtCs
o28wbTAdBgNVHQ4EFgQUlJZEu8JKAEG9wbhybzdkfrgsi6EwHwYDVR0jBBgwFoAU
lJZEu8JKAEG9wbhybzdkfrgsi6EwDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzAR
hwR/AAABgglsb2NhbGhvc3QwCgYIKoZIzj0EAwIDSQAwRgIhAPpV068PWtBWclDr
hFHsAFW5sjBdKuGShtHPTK+434SEAiEA6gIHGBRb+pI088s5KOjDyqLMc5NSo1FV
E0cmMvjnqmU=
-----END CERTIFICATE-----
`,
} as const;
