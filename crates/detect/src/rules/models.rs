//! Rules for model providers, model tooling and the services that agents are built with.

use crate::finding::Severity::{Critical, High, Medium};
use crate::rule::{Rule, near, token};

const UUID: &str = "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}";

#[rustfmt::skip] // one rule, one paragraph: the table is read as a table
pub(crate) static RULES: &[Rule] = &[
    token("openai-project", "OpenAI project, service-account or admin key", Critical, &["sk-proj-", "sk-svcacct-", "sk-admin-"], "sk-(proj|svcacct|admin)-[A-Za-z0-9_-]{40,200}", &["OPENAI_API_KEY={token}"], &["sk-proj-xxx"]),
    token("openai-legacy", "OpenAI API key (legacy form)", Critical, &["T3BlbkFJ"], "sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}", &["api_key = \"{token}\""], &["T3BlbkFJ"]),
    token("anthropic-api", "Anthropic API or admin key", Critical, &["sk-ant-"], "sk-ant-(api|admin|sid|oat|ort)[0-9]{2}-[A-Za-z0-9_-]{80,140}", &["ANTHROPIC_API_KEY={token}", "{\"key\":\"{token}\"}"], &["sk-ant-api03-..."]),
    token("openrouter", "OpenRouter API key", Critical, &["sk-or-v1-"], "sk-or-v1-[a-f0-9]{64}", &["{token}"], &["sk-or-v1-x"]),
    token("langfuse", "Langfuse secret key", High, &["sk-lf-"], "sk-lf-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", &["{token}"], &["sk-lf-..."]),
    token("helicone", "Helicone API key", High, &["sk-helicone-"], "sk-helicone-[a-z0-9-]{30,60}", &["{token}"], &["sk-helicone-x"]),
    token("sk-key", "API key of the `sk-` form (OpenAI-compatible providers: DeepSeek, DashScope, Moonshot, SiliconFlow)", Critical, &["sk-"], "sk-[A-Za-z0-9]{32,64}", &["DEEPSEEK_API_KEY={token}", "DASHSCOPE_API_KEY: {token}"], &["task-0123456789abcdef0123456789abcdef", "sk-learn"]).entropy(3.0),
    token("huggingface", "Hugging Face token", Critical, &["hf_"], "hf_[A-Za-z]{34}", &["HF_TOKEN={token}"], &["hf_hub_download"]),
    token("huggingface-org", "Hugging Face organization token", Critical, &["api_org_"], "api_org_[A-Za-z]{34}", &["{token}"], &["api_org_id"]),
    token("replicate", "Replicate API token", High, &["r8_"], "r8_[A-Za-z0-9]{37}", &["REPLICATE_API_TOKEN={token}"], &["r8_unorm"]),
    token("groq", "Groq API key", High, &["gsk_"], "gsk_[A-Za-z0-9]{48,56}", &["GROQ_API_KEY={token}"], &["gsk_key"]),
    token("perplexity", "Perplexity API key", High, &["pplx-"], "pplx-[A-Za-z0-9]{48,56}", &["{token}"], &["pplx-7b-online"]),
    token("xai", "xAI API key", High, &["xai-"], "xai-[A-Za-z0-9]{70,90}", &["XAI_API_KEY={token}"], &["xai-grok"]),
    token("fireworks", "Fireworks API key", High, &["fw_"], "fw_[A-Za-z0-9]{22,24}", &["FIREWORKS_API_KEY={token}"], &["fw_version"]).entropy(3.4),
    token("nvidia-nim", "NVIDIA API key", High, &["nvapi-"], "nvapi-[A-Za-z0-9_-]{60,72}", &["{token}"], &["nvapi-x"]),
    token("cerebras", "Cerebras API key", High, &["csk-"], "csk-[a-z0-9]{40,56}", &["{token}"], &["csk-1"]).entropy(3.2),
    token("together", "Together AI API key", High, &["tgp_v1_"], "tgp_v1_[A-Za-z0-9_-]{43}", &["{token}"], &["tgp_v1_"]),
    token("tavily", "Tavily API key", Medium, &["tvly-"], "tvly-[A-Za-z0-9-]{32,64}", &["TAVILY_API_KEY={token}"], &["tvly-x"]),
    token("firecrawl", "Firecrawl API key", Medium, &["fc-"], "fc-[a-f0-9]{32}", &["FIRECRAWL_API_KEY={token}"], &["fc-list"]),
    token("jina", "Jina AI API key", Medium, &["jina_"], "jina_[a-f0-9]{32}[A-Za-z0-9_-]{28}", &["{token}"], &["jina_embeddings"]),
    token("voyage", "Voyage AI API key", Medium, &["pa-"], "pa-[A-Za-z0-9_-]{43}", &["VOYAGE_API_KEY={token}"], &["pa-rows"]).entropy(4.0),
    token("llamacloud", "LlamaCloud API key", High, &["llx-"], "llx-[A-Za-z0-9]{48}", &["{token}"], &["llx-x"]),
    token("e2b", "E2B API key", High, &["e2b_"], "e2b_[a-f0-9]{40}", &["E2B_API_KEY={token}"], &["e2b_sandbox"]),
    token("pinecone", "Pinecone API key", High, &["pcsk_"], "pcsk_[A-Za-z0-9_]{60,80}", &["{token}"], &["pcsk_x"]),
    token("langsmith", "LangSmith API key", High, &["lsv2_"], "lsv2_(pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", &["LANGCHAIN_API_KEY={token}"], &["lsv2_pt"]),
    token("elevenlabs", "ElevenLabs API key", High, &["sk_"], "sk_[a-f0-9]{48}", &["ELEVENLABS_API_KEY={token}"], &["task_id", "sk_buff"]),
    token("browserbase", "Browserbase API key", Medium, &["bb_live_"], "bb_live_[A-Za-z0-9_-]{24,32}", &["{token}"], &["bb_live_x"]),
    token("composio", "Composio API key", Medium, &["ak_"], "ak_[A-Za-z0-9_-]{20,24}", &["COMPOSIO_API_KEY={token}"], &["break_on", "ak_list"]).entropy(3.6),
    token("wandb", "Weights & Biases API key (new form)", High, &["wandb_v1_"], "wandb_v1_[A-Za-z0-9_]{60,90}", &["{token}"], &["wandb_v1_"]),
    near("wandb-legacy", "Weights & Biases API key", High, &["wandb"], "[a-f0-9]{40}", &["WANDB_API_KEY={token}"], &["wandb login"]),
    near("cohere", "Cohere API key", High, &["cohere", "CO_API_KEY"], "[A-Za-z0-9]{40}", &["COHERE_API_KEY={token}"], &["cohere command-r key"]).entropy(3.8),
    near("mistral", "Mistral API key", High, &["mistral"], "[A-Za-z0-9]{32}", &["MISTRAL_API_KEY={token}"], &["mistral-large api"]).entropy(3.5),
    near("deepgram", "Deepgram API key", High, &["deepgram"], "[a-f0-9]{40}", &["DEEPGRAM_API_KEY={token}"], &["deepgram nova key"]),
    near("assemblyai", "AssemblyAI API key", High, &["assemblyai", "assembly_ai"], "[a-f0-9]{32}", &["ASSEMBLYAI_API_KEY={token}"], &["assemblyai key"]),
    near("zhipu", "Zhipu (BigModel) API key", High, &["zhipu", "bigmodel", "glm"], "[a-f0-9]{32}\\.[A-Za-z0-9]{16}", &["ZHIPUAI_API_KEY={token}"], &["zhipu glm-4 key"]),
    near("volcengine-ark", "Volcano Engine Ark API key", High, &["ARK_API", "volcengine", "doubao"], UUID, &["ARK_API_KEY={token}"], &["doubao pro key"]),
    near("azure-openai-legacy", "Azure OpenAI key (hex form)", Critical, &["AZURE_OPENAI", "openai.azure.com"], "[a-f0-9]{32}", &["AZURE_OPENAI_API_KEY={token}"], &["AZURE_OPENAI_API_VERSION=2024-02-01"]),
    near("exa", "Exa API key", Medium, &["EXA_API"], UUID, &["EXA_API_KEY={token}"], &["EXA_API_KEY="]),
    near("brave-search", "Brave Search API key", Medium, &["BRAVE_", "X-Subscription-Token"], "BSA[A-Za-z0-9_-]{24,32}", &["BRAVE_API_KEY={token}"], &["BRAVE_BROWSER=1"]),
    near("serper", "Serper or SerpApi key", Medium, &["serper", "serpapi"], "[a-f0-9]{40,64}", &["SERPER_API_KEY={token}"], &["serpapi key"]),
];
