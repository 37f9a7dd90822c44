//! Rules for payment, commerce and banking services, and for keys to crypto-currency.

use crate::finding::Severity::{Critical, High, Medium};
use crate::rule::{Rule, near, token};

#[rustfmt::skip] // one rule, one paragraph: the table is read as a table
pub(crate) static RULES: &[Rule] = &[
    token("stripe-secret", "Stripe secret or restricted key (live)", Critical, &["sk_live_", "rk_live_"], "(sk|rk)_live_[A-Za-z0-9]{16,120}", &["STRIPE_SECRET_KEY={token}", "Stripe.apiKey = \"{token}\""], &["sk_live_xxxxxxxxxxxxxxxxxxxxxxxx", "sk_live_..."]),
    token("stripe-test", "Stripe secret or restricted key (test)", Medium, &["sk_test_", "rk_test_"], "(sk|rk)_test_[A-Za-z0-9]{16,120}", &["{token}"], &["sk_test_xxx"]),
    token("stripe-webhook", "Stripe or Svix webhook signing secret", High, &["whsec_"], "whsec_[A-Za-z0-9+/=]{32,64}", &["STRIPE_WEBHOOK_SECRET={token}"], &["whsec_..."]),
    token("square-access-token", "Square access token", Critical, &["sq0atp-"], "sq0atp-[A-Za-z0-9_-]{22}", &["{token}"], &["sq0atp-x"]),
    token("square-oauth-secret", "Square OAuth secret", Critical, &["sq0csp-"], "sq0csp-[A-Za-z0-9_-]{43}", &["{token}"], &["sq0csp-x"]),
    token("square-token", "Square access token (new form)", Critical, &["EAAA"], "EAAA[A-Za-z0-9_-]{60}", &["SQUARE_ACCESS_TOKEN={token}"], &["EAAA1"]),
    token("braintree", "PayPal Braintree access token", Critical, &["access_token$production$", "access_token$sandbox$"], "access_token\\$(production|sandbox)\\$[a-z0-9]{16}\\$[a-f0-9]{32}", &["{token}"], &["access_token$production$"]),
    near("paypal", "PayPal client secret", Critical, &["paypal"], "E[A-Za-z0-9_-]{79}", &["PAYPAL_CLIENT_SECRET={token}"], &["paypal client"]),
    token("razorpay", "Razorpay key id", High, &["rzp_live_", "rzp_test_"], "rzp_(live|test)_[A-Za-z0-9]{14}", &["{token}"], &["rzp_live_"]),
    token("flutterwave", "Flutterwave secret key", Critical, &["FLWSECK"], "FLWSECK(_TEST)?-[a-f0-9]{12,32}-X", &["{token}"], &["FLWSECK"]),
    token("plaid-access", "Plaid access token", Critical, &["access-production-", "access-sandbox-", "access-development-"], "access-(production|sandbox|development)-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", &["{token}"], &["access-production-db"]),
    near("plaid-secret", "Plaid secret", Critical, &["plaid"], "[a-f0-9]{30}", &["PLAID_SECRET={token}"], &["plaid link token"]),
    token("mollie", "Mollie, Lob or GoCardless live key", Critical, &["live_"], "live_[A-Za-z0-9_-]{30,44}", &["MOLLIE_API_KEY={token}"], &["live_migration_in_progress", "live_reload"]).entropy(3.6),
    token("easypost", "EasyPost API key", High, &["EZAK", "EZTK"], "(EZAK|EZTK)[A-Za-z0-9]{54}", &["{token}"], &["EZAK1"]),
    token("shippo", "Shippo API token", High, &["shippo_live_", "shippo_test_"], "shippo_(live|test)_[a-f0-9]{40}", &["{token}"], &["shippo_live_"]),
    token("duffel", "Duffel API token", High, &["duffel_live_", "duffel_test_"], "duffel_(live|test)_[A-Za-z0-9_=-]{43}", &["{token}"], &["duffel_test_"]),
    token("paddle", "Paddle API key", Critical, &["pdl_"], "pdl_(live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}", &["{token}"], &["pdl_live_apikey"]),
    token("xendit", "Xendit secret key", Critical, &["xnd_"], "xnd_(production|development)_[A-Za-z0-9]{40,80}", &["{token}"], &["xnd_production"]),
    token("midtrans", "Midtrans server key", Critical, &["Mid-server-"], "Mid-server-[A-Za-z0-9_-]{24}", &["{token}"], &["Mid-server-x"]),
    token("adyen", "Adyen API key", Critical, &["AQE"], "AQE[a-z][A-Za-z0-9+/=]{60,110}-[A-Za-z0-9+/=]{40,50}-[A-Za-z0-9+/=(){};:.&%#@!?~*^$-]{10,20}", &["x-api-key: {token}"], &["AQEx"]),
    token("coinbase-cloud", "Coinbase developer API key name", High, &["/apiKeys/"], "organizations/[a-f0-9-]{36}/apiKeys/[a-f0-9-]{36}", &["{token}"], &["/apiKeys/list"]),
    near("binance", "Binance API key or secret", Critical, &["binance"], "[A-Za-z0-9]{64}", &["BINANCE_SECRET_KEY={token}"], &["binance btc key"]).entropy(4.0),
    near("kraken", "Kraken private key", Critical, &["kraken"], "[A-Za-z0-9+/]{86}==", &["KRAKEN_API_SECRET={token}"], &["kraken key"]),
    token("shopify", "Shopify access token or shared secret", Critical, &["shpat_", "shpca_", "shppa_", "shpss_", "shpua_"], "(shpat|shpca|shppa|shpss|shpua)_[a-fA-F0-9]{32}", &["X-Shopify-Access-Token: {token}"], &["shpat_x"]),
    token("woocommerce", "WooCommerce consumer key or secret", High, &["ck_", "cs_"], "(ck|cs)_[a-f0-9]{40}", &["consumer_secret: {token}"], &["check_box", "docs_url", "ck_editor"]),
    near("ethereum-private-key", "Ethereum private key", Critical, &["private_key", "privateKey", "PRIVATE_KEY", "wallet", "mnemonic", "deployer"], "(0x)?[a-fA-F0-9]{64}", &["DEPLOYER_PRIVATE_KEY={token}", "privateKey: \"{token}\""], &["wallet balance"]),
    near("infura", "Infura or Alchemy project key", Medium, &["infura", "alchemy"], "[A-Za-z0-9_-]{32}", &["INFURA_API_KEY={token}"], &["infura mainnet"]).entropy(3.4),
    near("etherscan", "Etherscan API key", Medium, &["etherscan"], "[A-Z0-9]{34}", &["ETHERSCAN_API_KEY={token}"], &["etherscan verify"]),
];
