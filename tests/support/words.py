"""Words and sentences that the corpora are made of.

In a sentence x, y, z and w stand for things, a, b and c for what is done, n for a number.
"""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS = _words(
    """
    account address archive article asset backup balance batch branch bucket cache campaign card catalog channel
    chart client cluster comment commit config connection contract coupon course customer dashboard dataset
    deployment device document domain draft endpoint event feature file filter folder gateway group image import
    index invoice issue item job journal key label ledger license limit list location log machine manifest member
    merchant message metric model module network node notification order organization package page partner
    password patch payment permission person pipeline plan policy portal position price process product profile
    project promotion property proxy purchase query queue quota record region release report repository request
    resource response result review role route rule sample schedule schema search section segment server service
    session setting shard shipment signature snapshot source stage status storage stream subscription supplier
    table tag target task team template tenant thread ticket token topic transaction transfer trigger upload user
    vault vendor version volume wallet warehouse webhook window worker
    """
)

VERBS = _words(
    """
    accept activate allocate append apply archive assign attach authorize block build cancel check clone close
    collect commit compile compress confirm connect copy create decode decrypt delete deliver deploy detach
    disable discard download drop enable encode encrypt evict expire export fetch filter flush forward generate
    grant import index initialize insert install invalidate invoke load lock mark merge migrate monitor move mount
    notify open parse patch pause persist poll prepare process publish pull push queue read rebuild receive
    recover refresh register reject release reload remove rename render repair replace replay report reset resize
    resolve restart restore retry revoke rotate save scan schedule select send sign skip sort spawn split start
    stop store submit suspend sync throttle trace transfer unlock update upgrade upload validate verify warm write
    """
)

NAMES = _words(
    """
    Alice Amir Anna Bruno Carla Chen Claire Daniel Diego Elena Emma Farid Fatima George Hana Hiroshi Ines Ivan
    Jamal James Julia Kaito Karim Laura Lena Liam Lucia Marco Maria Mei Mohamed Nadia Nina Noah Olga Omar Paul
    Priya Rosa Sara Sofia Tariq Thomas Uma Victor Wei Yara Yusuf Zoe Anderson Brown Costa Dubois Evans Ferrari
    Garcia Hoffmann Ito Jensen Kumar Lopez Martin Nguyen Okafor Patel Quinn Rossi Santos Tanaka Ueda Varga Weber
    Yilmaz Zhang
    """
)

ZH_THINGS = _words(
    """
    程序 文件 函数 变量 接口 服务器 数据库 日志 测试 用户 配置 线程 进程 缓存 队列 请求 响应 网络
    连接 权限 密码 目录 模块 类 对象 参数 返回值 异常 错误 警告 代码 仓库 分支 提交 版本 依赖 库
    框架 页面 按钮 窗口 列表 表格 索引 查询 事务 备份 迁移 部署 容器 镜像 集群 节点 监控 报警
    性能 内存 磁盘 时间 日期 编码 字符 字符串 数组 字典 循环 条件 语句 注释 文档 需求 计划 问题
    方案 结果 原因 步骤 项目 任务 系统 平台 工具 命令 终端 脚本 环境 变更 风险 客户 订单 价格
    库存 支付 账户 消息 通知 邮件 图片 视频 地址 城市 天气 学生 老师 公司 会议 合同 报告 预算
    市场 产品 设计 质量 标准 流程 团队 经理 同事 经验 知识 历史 文化 音乐 电影 小说 故事 孩子
    父母 朋友 医院 学校 道路 火车
    """
)

ZH_ACTS = _words(
    """
    读取 写入 检查 修改 删除 创建 调用 返回 处理 解析 生成 保存 加载 更新 提交 回滚 合并 编译
    运行 停止 重启 部署 测试 验证 优化 重构 分析 设计 实现 发送 接收 连接 断开 查询 排序 过滤
    转换 复制 移动 比较 记录 打印 显示 隐藏 打开 关闭 等待 通知 确认 拒绝 接受 讨论 解决 发现
    避免 减少 增加 提高 降低 支持 限制 允许 禁止 选择 替换 恢复 备份 迁移 监控 统计 计算 评估
    准备 完成 开始 继续 参加 介绍 学习 研究 购买
    """
)

JA_THINGS = _words(
    """
    プログラム ファイル 関数 変数 インターフェース サーバー データベース ログ テスト ユーザー 設定
    スレッド プロセス キャッシュ キュー リクエスト レスポンス ネットワーク 接続 権限 パスワード
    ディレクトリ モジュール クラス オブジェクト 引数 戻り値 例外 エラー 警告 コード リポジトリ ブランチ
    コミット バージョン 依存関係 ライブラリ 画面 ボタン 一覧 表 索引 検索 処理 バックアップ 移行 環境
    コンテナ 性能 メモリ 時間 日付 文字列 配列 条件 コメント 文書 要件 計画 問題 方法 結果 原因
    手順 作業 システム 道具 コマンド 端末 変更 顧客 注文 価格 在庫 支払い 口座 通知 写真 住所 天気
    学生 先生 会社 会議 契約 報告書 予算 市場 製品 品質 基準 仕組み 担当者 経験 知識 歴史 文化
    音楽 映画 小説 物語 子ども 両親 友達 病院 学校 電車
    """
)

JA_ACTS = _words(
    """
    読み込む 書き込む 確認する 変更する 削除する 作成する 呼び出す 返す 処理する 解析する 生成する
    保存する 更新する 送信する 受信する 接続する 検索する 並べ替える 変換する コピーする 移動する
    比較する 記録する 表示する 隠す 開く 閉じる 待つ 知らせる 断る 受け入れる 話し合う 解決する
    見つける 避ける 減らす 増やす 改善する 支援する 制限する 許可する 選ぶ 置き換える 復元する 計算する
    評価する 準備する 終える 始める 続ける 学ぶ 買う
    """
)

ZH_FRAMES = (
    "如果{a}{x}失败，{y}会{b}{z}，并且{c}相关的{w}。",
    "我们需要先{a}{x}，然后再{b}{y}，这样才能{c}{z}。",
    "请帮我{a}一下{x}里的{y}，看看为什么{z}没有被正确{b}。",
    "这个{x}在{a}{y}的时候会{b}{z}，所以{w}变得很慢。",
    "目前的{x}不支持{a}{y}，建议使用新的{z}来{b}{w}。",
    "{x}的{y}已经{a}，但是{z}还没有{b}，可能是{w}的原因。",
    "为了{a}{x}，他们花了三个月的时间来{b}{y}和{z}。",
    "昨天的{x}主要{a}了{y}的问题，大家一致同意{b}{z}。",
    "注意：不要在{x}中直接{a}{y}，否则{z}会被{b}。",
    "第{n}步，{a}{x}，确认{y}与{z}一致之后再{b}{w}。",
    "随着{x}的发展，越来越多的{y}开始{a}{z}，这对{w}来说是一个很大的挑战。",
    "他说{x}很重要，因为它可以{a}{y}，也能{b}{z}。",
)

JA_FRAMES = (
    "もし{x}を{a}ことができなければ、{y}は{z}を{b}必要があります。",
    "まず{x}を{a}前に、{y}が正しいかどうかを確かめてください。",
    "この{x}は{y}を{a}ときに{z}を{b}ので、とても遅くなっています。",
    "{x}の{y}については、来週の{z}で{a}予定です。",
    "{x}を{a}ために、新しい{y}を{b}ことにしました。",
    "現在の{x}では{y}を{a}ことはできませんが、{z}なら可能です。",
    "注意：{x}の中で{y}を直接{a}と、{z}が失われることがあります。",
    "手順{n}では、{x}を{a}、そのあとで{y}と{z}を{b}。",
    "昨日の{x}で{y}を{a}ことが決まったので、{z}も{b}つもりです。",
    "{x}が大切なのは、{y}を{a}だけでなく、{z}を{b}からです。",
    "すみませんが、{x}の{y}を{a}ようにしてもらえませんか。",
    "多くの{x}が{y}を{a}ようになり、{z}にとって大きな課題となっている。",
)
